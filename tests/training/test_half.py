"""Training in bfloat16: a whole step is taken, and parameters stay float32."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mttt
from mttt.data import Batch, Spec
from mttt.models import Size
from mttt.outer import ExactGradient
from mttt.recipes import Recipe
from mttt.training import prepare_for

SIDE, ROWS = 4, 4
# tests/mixers compares the gradients of the others, and of more TTT layers.
MIXERS = {
    "self-attention": mttt.SelfAttention,
    "linear-attention": mttt.LinearAttention,
    "elu-linear-attention": mttt.EluLinearAttention,
    "longformer": partial(mttt.Longformer, window=4),
    "mttt-mlp": partial(mttt.TTT, learner=mttt.MLPLearner),
    "nadaraya-watson": partial(mttt.TTT, learner=mttt.NadarayaWatson, start=mttt.Memory),
}
# bfloat16 has 8 bits: one rounding is off by up to 2⁻⁹, and a step has a few dozen of them in a row.
LOSS, GRADIENT = 0.02, 0.1


def prepared(mixer, dtype):
    """A training by plain descent with rate 1."""
    spec = Spec(jax.ShapeDtypeStruct((SIDE, SIDE, 1), np.uint8), tuple("abcd"))
    make = partial(mttt.ViT, (SIDE, SIDE, 1), 4, size=Size(16, 1, 2), patch=1, mixer=mixer, head=mttt.LinearHead)
    training = prepare_for(Recipe(batch_size=ROWS, dtype=dtype), spec, 100)
    return replace(training, model=lambda key: make(key=key), rule=ExactGradient(optax.sgd(1.0)))


def stepped(training, state):
    """Loss and gradient of a step, and the parameters after it."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (ROWS, SIDE, SIDE, 1), np.uint8)
    rows = Batch(images, rng.integers(0, 4, ROWS, np.int32), np.ones(ROWS, np.float32))
    before = [np.array(leaf) for leaf in _arrays(state)]
    own = jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, state)  # a step reuses its memory
    with jax.numpy_dtype_promotion("standard"):  # JAX's own attention promotes implicitly
        after, _ = training.program()(own, rows)
    arrays = _arrays(after)
    return float(after.totals.loss), [a - np.asarray(b) for a, b in zip(before, arrays, strict=True)], arrays


def _arrays(state):
    return jax.tree.leaves(eqx.filter(state.model, eqx.is_inexact_array))


@pytest.mark.parametrize("name", MIXERS)
def test_a_step_in_bfloat16_is_near_the_step_in_float32(name):
    state = prepared(MIXERS[name], "float32").state()
    loss, gradient, _ = stepped(prepared(MIXERS[name], "float32"), state)
    half_loss, half_gradient, after = stepped(prepared(MIXERS[name], "bfloat16"), state)
    assert all(array.dtype == jnp.float32 for array in after)
    assert np.isfinite(half_loss) and all(np.isfinite(array).all() for array in half_gradient)
    assert half_loss == pytest.approx(loss, rel=LOSS)
    assert half_loss != loss  # it was computed in bfloat16
    size = lambda arrays: np.sqrt(sum(float(np.sum(array**2)) for array in arrays))  # noqa: E731
    apart = [one - other for one, other in zip(half_gradient, gradient, strict=True)]
    assert size(apart) < GRADIENT * size(gradient), size(apart) / size(gradient)
