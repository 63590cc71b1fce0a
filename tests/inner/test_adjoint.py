"""Block by block is the same as all at once, and it takes less memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import mttt
from catalogue import DIM, HEADS, WIDTH, relative_error, tokens, ttt
from inner.test_loop import make, run

BATCHINGS = [mttt.FullBatch(1), mttt.FullBatch(3), mttt.MiniBatches(3)]


@pytest.mark.parametrize(
    ("learner", "optimizer", "batching", "losses", "n", "blocks"),
    [
        ("mlp", "fixed", BATCHINGS[0], False, 13, (5,)),
        ("mlp", "fixed", BATCHINGS[1], False, 12, (4,)),
        ("mlp", "optax", BATCHINGS[2], True, 12, (1, 3, 12)),  # 13 would be mini-batches of two sizes
        ("zero-linear", "fixed", BATCHINGS[1], True, 13, (1, 5)),
    ],
)
def test_the_adjoint_changes_no_number(float64, learner, optimizer, batching, losses, n, blocks):
    """Outputs, losses and outer gradients; blocks that divide the tokens, that do not, of one token, and one block."""
    variables = make(learner, "normalised", optimizer), tokens(n)

    def outer(variables, adjoint):
        parts, x = variables
        learned = run(parts, batching, x, losses=losses, adjoint=adjoint)
        return jnp.sum(jnp.sin(learned.carry.learner(x[:, :WIDTH]))), learned

    @eqx.filter_jit
    def every(variables):
        both = eqx.filter_value_and_grad(outer, has_aux=True)
        return [both(variables, adjoint) for adjoint in (mttt.Keep(), *map(mttt.Recompute, blocks))]

    kept, *recomputed = every(variables)
    for found in recomputed:
        assert relative_error(found, kept) < 1e-12


def test_a_task_that_mixes_tokens_is_posed_once_on_all_of_them(float64):
    class Smoothed(mttt.Task):
        inner: mttt.Reconstruction

        def __call__(self, tokens):
            return self.inner(tokens - jnp.mean(tokens, axis=0, keepdims=True))

        def report(self, losses):
            return losses

    (start, task, optimizer), x = make("mlp", "normalised"), tokens(12)
    smoothed = Smoothed(mttt.Reconstruction(DIM, WIDTH, key=jax.random.key(0)))

    def learn(batching, task, adjoint):
        return run((start, task, optimizer), batching, x, adjoint=adjoint).carry.learner

    @jax.jit
    def every():
        pairs = [[learn(each, smoothed, how) for how in (mttt.Recompute(3), mttt.Keep())] for each in BATCHINGS]
        return pairs, learn(BATCHINGS[0], task, mttt.Recompute(3))

    pairs, other = every()
    for got, whole in pairs:
        assert relative_error(got, whole) < 1e-12
    assert relative_error(other, pairs[0][1]) > 1e-3


@pytest.mark.parametrize("task", ["plain", "normalised", "paper"])
def test_a_tokenwise_task_poses_rows_for_themselves(task):
    _, made, _ = make("mlp", task)
    assert isinstance(made, mttt.TokenwiseTask)
    some, every = jax.jit(lambda x: [(each.inputs, each.targets) for each in (made(x[2:5]), made(x))])(tokens())
    assert relative_error(some, jax.tree.map(lambda a: a[2:5], every)) < 1e-6


def test_a_learner_that_mixes_tokens_sees_all_of_them():
    parts, x = make("stranger", "normalised"), tokens(12)
    assert not isinstance(parts[0].learner, mttt.TokenwiseLearner)
    few, whole = eqx.filter_jit(
        lambda parts: [run(parts, mttt.FullBatch(2), x, adjoint=how) for how in (mttt.Recompute(3), mttt.Recompute())]
    )(parts)
    assert relative_error(few, whole) == 0


@pytest.mark.parametrize("n", [1, 5, 12, 13])
@pytest.mark.parametrize("at_most", [1, 4, 5, 20])
def test_maps_and_sums(n, at_most):
    x, adjoint, learner = tokens(n), mttt.Recompute(at_most), make("mlp", "plain")[0].learner
    assert relative_error(adjoint.map(lambda rows: 2 * rows, x, learner), 2 * x) == 0
    summed = adjoint.sum(lambda rows: jnp.sum(rows, axis=0), x, learner, tokens=n, alone=True)
    assert relative_error(summed, jnp.sum(x, axis=0)) < 1e-6


def test_block_size():
    mlp, linear, stranger = (make(name, "plain")[0].learner for name in ("mlp", "linear", "stranger"))
    chosen, told = mttt.Recompute(), mttt.Recompute(50)
    assert [chosen.size(mlp, n) for n in (64, 196, 12_544, 50_176)] == [64, 112, 896, 1792]
    assert [chosen.size(linear, n) for n in (196, 12_544)] == [448, 3584], "its activations are narrower"
    assert chosen.size(stranger, 196) == told.size(stranger, 196) == 196, "it mixes tokens"
    assert told.size(mlp, 196) == 50
    with pytest.raises(ValueError, match="block=0: expected a whole number from 1 to 10,000,000"):
        mttt.Recompute(0)


def test_memory_grows_by_a_few_widths_a_token():
    """A hidden layer 32 times as wide as a token leaves no trace in what each further token needs."""
    factor, n = 32, 512

    def temporary(n, block):
        make = ttt(block=block)
        make.keywords["learner"] = lambda width, *, key: mttt.MLPLearner(width, factor=factor, key=key)
        layer = eqx.filter_eval_shape(make, DIM, HEADS, key=jax.random.key(0))  # shapes are all that is needed
        arrays, rest = eqx.partition(layer, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
        gradient = jax.grad(lambda arrays, x: jnp.sum(eqx.combine(arrays, rest)(x).tokens ** 2), argnums=(0, 1))
        return jax.jit(gradient).lower(arrays, tokens(n)).compile().memory_analysis().temp_size_in_bytes

    def widths(block):
        """Floats for each further token, in widths of a token."""
        return (temporary(2 * n, block(2 * n)) - temporary(n, block(n))) / (4 * n * DIM)

    assert widths(lambda n: 64) < 8
    assert widths(lambda n: n) > factor
