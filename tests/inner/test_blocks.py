"""Block by block is the same as all at once, and it takes less memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import mttt
from catalogue import DIM, HEADS, WIDTH, build, relative_error, tokens, ttt
from inner.test_loop import make, run
from mttt.inner.blocks import block_size, map_blocks, sum_over_blocks

BATCHINGS = [mttt.FullBatch(1), mttt.FullBatch(3), mttt.MiniBatches(3)]


@pytest.mark.parametrize(
    ("learner", "optimizer", "batching", "losses"),
    [
        *(("mlp", "fixed", batching, False) for batching in BATCHINGS),
        ("mlp", "optax", BATCHINGS[2], True),
        ("zero-linear", "fixed", BATCHINGS[1], True),
    ],
)
def test_blocks_change_no_number(float64, learner, optimizer, batching, losses):
    """Outputs, losses and outer gradients; blocks that divide the tokens, that do not, and of one token."""
    variables = make(learner, "normalised", optimizer), tokens(12)

    @eqx.filter_jit
    def outer(variables, block):
        def loss(variables):
            parts, x = variables
            trained = run(parts, batching, x, losses=losses, block=block)
            return jnp.sum(jnp.sin(trained.learner(x[:, :WIDTH]))), trained

        return eqx.filter_value_and_grad(loss, has_aux=True)(variables)

    whole = outer(variables, 12)
    for block in (1, 4, 5):
        assert relative_error(outer(variables, block), whole) < 1e-12


def test_a_task_that_mixes_tokens_is_posed_once_on_all_of_them(float64):
    class Smoothed(mttt.Reconstruction):  # a new __call__ is not tokenwise until it says so
        def __call__(self, tokens):
            return super().__call__(tokens - jnp.mean(tokens, axis=0, keepdims=True))

    (learner, task, optimizer), x = make("mlp", "normalised"), tokens(12)
    smoothed = Smoothed(DIM, WIDTH, key=jax.random.key(0))
    for batching in BATCHINGS:
        got = run((learner, smoothed, optimizer), batching, x, block=3).learner
        whole = run((learner, smoothed, optimizer), batching, x, block=12).learner
        assert relative_error(got, whole) < 1e-12
        other = run((learner, task, optimizer), batching, x, block=3).learner
        assert relative_error(other, whole) > 1e-3


@pytest.mark.parametrize("task", ["plain", "normalised", "paper"])
def test_a_tokenwise_task_poses_rows_for_themselves(task):
    _, made, _ = make("mlp", task)
    assert made.tokenwise
    x = tokens()
    some, every = made(x[2:5]), made(x)
    rows = jax.tree.map(lambda a: a[2:5], (every.inputs, every.targets))
    assert relative_error((some.inputs, some.targets), rows) < 1e-6


def test_a_learner_that_mixes_tokens_sees_all_of_them():
    parts, x = make("stranger", "normalised"), tokens(12)
    assert not isinstance(parts[0], mttt.Blockwise)
    assert relative_error(run(parts, mttt.FullBatch(2), x, block=3), run(parts, mttt.FullBatch(2), x)) == 0


@pytest.mark.parametrize("n", [1, 5, 12, 13])
@pytest.mark.parametrize("at_most", [1, 4, 5, 20])
def test_maps_and_sums(n, at_most):
    x = tokens(n)
    assert relative_error(map_blocks(lambda rows: 2 * rows, x, at_most), 2 * x) == 0
    summed = sum_over_blocks(lambda rows: jnp.sum(rows, axis=0), x, at_most)
    assert relative_error(summed, jnp.sum(x, axis=0)) < 1e-6


def test_block_size():
    mlp, linear, stranger = (make(name, "plain")[0] for name in ("mlp", "linear", "stranger"))
    assert [block_size(mlp, n) for n in (64, 196, 12_544, 50_176)] == [64, 112, 896, 1792]
    assert [block_size(linear, n) for n in (196, 12_544)] == [448, 3584], "its activations are narrower"
    assert block_size(stranger, 196) == block_size(stranger, 196, 50) == 196, "it mixes tokens"
    assert block_size(mlp, 196, 50) == 50
    with pytest.raises(ValueError, match="block=0: a block holds at least one token"):
        block_size(mlp, 196, 0)


def test_memory_grows_by_a_few_widths_a_token():
    """A hidden layer 32 times as wide as a token leaves no trace in what each further token needs."""
    factor, n = 32, 2048

    def temporary(n, block):
        make = ttt(block=block)
        make.keywords["learner"] = lambda width, *, key: mttt.MLPLearner(width, factor=factor, key=key)
        arrays, rest = eqx.partition(build(make, DIM, HEADS), eqx.is_inexact_array)
        gradient = jax.grad(lambda arrays, x: jnp.sum(eqx.combine(arrays, rest)(x).tokens ** 2), argnums=(0, 1))
        return jax.jit(gradient).lower(arrays, tokens(n)).compile().memory_analysis().temp_size_in_bytes

    def widths(block):
        """Floats for each further token, in widths of a token."""
        return (temporary(2 * n, block(2 * n)) - temporary(n, block(n))) / (4 * n * DIM)

    assert widths(lambda n: 64) < 8
    assert widths(lambda n: n) > factor
