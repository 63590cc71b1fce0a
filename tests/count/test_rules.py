"""Where nothing loops, XLA counts too.

Before XLA optimises a program, the two counts are the same. The compiled program has more FLOPs than were asked for:
fusions compute cheap operands again for each of their users, and long sums become sums of sums. Next to matmuls this is
little; of a small program without matmuls it can be most.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from mttt.count import flops
from mttt.mixers import Hyena, LinearAttention, SelfAttention

N, DIM, HEADS = 64, 32, 2


def normal(*shape, seed=0):
    return jax.random.normal(jax.random.key(seed), shape)


def mixer(make):
    arrays, rest = eqx.partition(make(DIM, HEADS, key=jax.random.key(0)), eqx.is_array)
    return lambda arrays, x: jax.vmap(lambda one: eqx.combine(arrays, rest)(one).tokens)(x), (arrays, normal(2, N, DIM))


def mlp(arrays, x):
    up, down = arrays
    return jnp.sum(jax.nn.gelu(x @ up) @ down)


def convolve(x, kernel):
    return jax.lax.conv_general_dilated(x, kernel, (2, 1), "VALID", feature_group_count=3)


def assorted(x):
    """A little of everything."""
    y = jnp.where(x > 0, x**5 - x**-2, jax.nn.sigmoid(x)) / 3
    z = jnp.clip(y, -1, 1) + jnp.max(jnp.abs(y), axis=1, keepdims=True) * jnp.exp2(x)
    return z.at[jnp.array([1, 3])].add(2.0), jnp.any(jnp.isfinite(z) & (y < 1), axis=0), jnp.sort(y, axis=None)


PROGRAMS = {
    "matmul": (jnp.matmul, (normal(8, 16), normal(16, 32)), 1e-6),
    "batched matmul": (jax.vmap(jnp.matmul), (normal(4, 8, 16), normal(4, 16, 32)), 1e-6),
    "self-attention": (*mixer(SelfAttention), 0.02),
    "linear attention": (*mixer(LinearAttention), 1e-3),
    "hyena": (*mixer(Hyena), 0.03),  # the FLOPs of its filters are fused into several users
    "gradient of an MLP": (jax.grad(mlp), ((normal(DIM, 128), normal(128, DIM)), normal(N, DIM)), 0.02),
    "grouped convolution": (convolve, (normal(2, 6, 8, 8), normal(9, 2, 3, 3)), 1e-6),
    "assorted": (assorted, (normal(8, 16),), None),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_count_is_that_of_xla(name):
    function, arguments, tolerance = PROGRAMS[name]
    counted = flops(function, *arguments)
    lowered = jax.jit(function).lower(*arguments)
    assert counted.executed == pytest.approx(lowered.cost_analysis()["flops"], abs=8)  # a few operations on scalars
    assert counted.useful <= counted.executed
    if tolerance is not None:
        assert counted.executed == pytest.approx(lowered.compile().cost_analysis()["flops"], rel=tolerance)


def test_what_xla_counts_otherwise():
    x = normal(10, 16)
    assert flops(lambda x: jnp.cumsum(x, axis=1), x).useful == 160
    assert flops(lambda x: jnp.argmax(x, axis=1), x).useful == 150
    assert flops(lambda key: jax.random.bits(key, (100,)), jax.random.key(0)).useful == 0


def test_what_has_no_rule_is_refused():
    with pytest.raises(
        ValueError, match=r"no rule says how many FLOPs cholesky takes; add one to mttt/count/rules\.py"
    ):
        flops(jax.lax.linalg.cholesky, jnp.eye(4))
