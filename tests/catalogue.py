"""Every learner, task, optimizer, batching and mixer, once; tests run properties over the products of these lists."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.core import Tracer

import mttt

N, DIM, HEADS, WIDTH = 7, 12, 2, 6


class Stranger(eqx.Module):
    """A learner that the library does not know. It mixes tokens; it has a scalar, an integer array and a function."""

    inside: eqx.nn.Linear
    gate: jax.Array
    order: jax.Array
    activation: object

    def __init__(self, width: int, *, key):
        self.inside = eqx.nn.Linear(width, width, key=key)
        self.gate = jnp.asarray(0.3)
        self.order = jnp.arange(width)[::-1]
        self.activation = jnp.tanh

    def __call__(self, inputs, *, key=None):
        mixed = inputs + self.gate * jnp.mean(inputs, axis=0, keepdims=True)
        return self.activation(jax.vmap(self.inside)(mixed))[:, self.order]


class Denoising(mttt.Task):
    """A task of a user: predict a fixed random projection of the token, with absolute errors."""

    inside: jax.Array
    target: jax.Array

    def __init__(self, dim: int, width: int, *, key):
        a, b = jax.random.split(key)
        self.inside = jax.random.normal(a, (dim, width)) * dim**-0.5
        self.target = jax.random.normal(b, (dim, width)) * dim**-0.5

    def __call__(self, tokens):
        def losses(answers, targets):
            return jnp.sum(jnp.sqrt(1 + (answers - targets) ** 2), axis=1)

        return mttt.Problem(tokens @ self.inside, tokens @ self.target, losses)

    def report(self, losses):
        return losses


PARAMETRIC = {
    "linear": (mttt.LinearLearner, mttt.Trained),
    "zero-linear": (mttt.LinearLearner, mttt.Zeros),
    "mlp": (mttt.MLPLearner, mttt.Trained),
    "frozen-mlp": (partial(mttt.MLPLearner, factor=2), mttt.Frozen),
    "stranger": (Stranger, mttt.Trained),
}
NON_PARAMETRIC = {
    "exponential": (mttt.NadarayaWatson, mttt.Memory),
    "gaussian": (partial(mttt.NadarayaWatson, kernel=mttt.GaussianKernel()), mttt.Memory),
}
LEARNERS = PARAMETRIC | NON_PARAMETRIC  # and how they start
TASKS = {
    "plain": partial(mttt.Reconstruction, decoder_norm=False),
    "normalised": mttt.Reconstruction,
    "paper": partial(mttt.Reconstruction, divisor=1.0),
    "own": Denoising,
}
OPTIMIZERS = {
    "fixed": mttt.GradientDescent,
    "learned": lambda: mttt.GradientDescent(jnp.asarray(0.5)),
    "per-step": lambda: mttt.GradientDescent(jnp.linspace(1.0, 0.5, 3)),
    "optax": lambda: mttt.OptaxOptimizer(optax.sgd, learning_rate=jnp.asarray(0.3), momentum=0.9),
}
BATCHINGS = {"full": mttt.FullBatch, "mini": mttt.MiniBatches}


def ttt(learner="mlp", task="normalised", optimizer="fixed", batching="full", steps=1, block=None):
    return partial(
        mttt.TTT,
        learner=LEARNERS[learner][0],
        start=LEARNERS[learner][1],
        task=TASKS[task],
        optimizer=OPTIMIZERS[optimizer](),
        batching=BATCHINGS[batching](steps),
        adjoint=mttt.Recompute(block),
    )


MIXERS = {
    "mttt-linear": ttt("zero-linear", "plain"),
    "mttt-mlp": ttt(),
    "mttt-mlp-sgd3": ttt(batching="mini", steps=3),
    "mttt-mlp-blocks": ttt(steps=2, block=3),
    "ttt-kernel": ttt("gaussian", "plain"),
    "self-attention": mttt.SelfAttention,
    "linear-attention": mttt.LinearAttention,
    "elu-linear-attention": mttt.EluLinearAttention,
    "linformer": partial(mttt.Linformer, rank=3),
    "longformer": partial(mttt.Longformer, window=2, global_tokens=1),
    "soft": partial(mttt.SOFT, landmarks=3),
    "hyena": partial(mttt.Hyena, width=5, bands=2),
}
# Mixers that read from left to right, with chunks, windows and contexts that are shorter than the tests' sequences.
KEY_VALUE = partial(mttt.KeyValue, norm=True, residual=True)
CAUSAL = {
    "causal-mttt": partial(
        mttt.CausalTTT,
        learner=mttt.AffineLearner,
        task=partial(mttt.Reconstruction, decoder_norm=False),
        chunks=mttt.Chunks(3),
    ),
    "ttt-mlp": partial(
        mttt.CausalTTT,
        learner=partial(mttt.MLPLearner, factor=2),
        task=KEY_VALUE,
        rates=partial(mttt.PlacedRates, size=4),
        chunks=mttt.Chunks(4),
    ),
    "gated-delta-rule": partial(
        mttt.CausalTTT,
        learner=mttt.LinearLearner,
        start=mttt.Zeros,
        task=partial(mttt.KeyValue, unit=True),
        rates=mttt.DecayingRates,
        chunks=mttt.Chunks(1),
    ),
    "large-chunks": partial(
        mttt.CausalTTT,
        learner=mttt.SwiGLULearner,
        start=mttt.Frozen,
        task=partial(mttt.KeyValue, loss=mttt.DotLoss()),
        optimizer=mttt.OptaxOptimizer(optax.sgd, learning_rate=0.03, momentum=0.9),
        rates=mttt.GatedRates,
        chunks=mttt.AnswerThenLearn(3),
        adjoint=mttt.Undo(),
    ),
    "causal-attention": mttt.CausalSelfAttention,
    "placeless-attention": partial(mttt.CausalSelfAttention, positions=None),
    "sliding-window": partial(mttt.SlidingWindow, window=4),
    "causal-linear-attention": partial(mttt.CausalLinearAttention, chunk=3),
    "causal-elu-linear-attention": partial(mttt.CausalEluLinearAttention, chunk=3),
    "causal-hyena": partial(mttt.CausalHyena, context=5, width=5, bands=2),
    "convolved-window": partial(
        mttt.Convolved, mixer=partial(mttt.SlidingWindow, window=3, positions=mttt.Rotary(50.0)), width=3
    ),
    "gated-convolved": partial(mttt.Gated, mixer=partial(mttt.Convolved, mixer=mttt.CausalSelfAttention)),
}
GROWING = ("causal-attention", "placeless-attention", "gated-convolved")  # states
SOFTMAX = (*GROWING, "sliding-window", "convolved-window")  # JAX's attention takes it in float32
# For these, it matters where a token is.
BY_POSITION = ("mttt-mlp-sgd3", "linformer", "longformer", "soft", "hyena")


def maker(name, n=N):
    """The mixer's maker, for n tokens."""
    make = CAUSAL[name] if name in CAUSAL else MIXERS[name]
    return partial(make, tokens=n) if name == "linformer" else make


def made(name, n=N, dim=DIM, heads=HEADS):
    """The mixer for n tokens, with its noise. It is drawn once, for all files."""
    return build(maker(name, n), dim, heads, name=(name, n if name == "linformer" else N))


def shake(tree, scale=0.3, seed=7):
    """The same tree with noise on every inexact array: no bias, scale or shift is what it is initialised to."""
    rng = np.random.default_rng(seed)

    def noisy(leaf):
        if not eqx.is_inexact_array(leaf):
            return leaf
        noise = np.asarray(scale * rng.normal(size=leaf.shape)).astype(leaf.dtype)
        # NumPy has nothing to compile, and jnp.asarray has a program for each shape.
        return leaf + noise if isinstance(leaf, Tracer) else jax.device_put(np.asarray(leaf) + noise)

    return jax.tree.map(noisy, tree)


def tokens(n=N, dim=DIM, seed=1, batch=()):
    """Random tokens, drawn by NumPy: nothing to compile."""
    return jax.device_put(np.random.default_rng(seed).normal(size=(*batch, n, dim)))


_drawn = {}


def build(make, *arguments, scale=0.3, name=None):
    """A module with its noise. Drawing is compiled as one program, and once for each `name`: then in float32."""
    draw = eqx.filter_jit(lambda: make(*arguments, key=jax.random.key(0)))
    if name is None:
        return shake(draw(), scale=scale)
    if (name, arguments) not in _drawn:
        with jax.enable_x64(False):
            drawn = draw()
        if isinstance(jax.tree.leaves(drawn)[0], Tracer):
            return shake(drawn, scale=scale)
        _drawn[name, arguments] = drawn
    drawn = _drawn[name, arguments]
    return shake(to_float64(drawn) if jax.config.jax_enable_x64 else drawn, scale=scale)


def fully_optimised(function):
    """Compiled as users compile it."""

    def call(*arguments):
        arrays, rest = eqx.partition(arguments, eqx.is_array)
        options = {"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}
        options["xla_cpu_parallel_codegen_split_count"] = 32
        run = jax.jit(lambda arrays: function(*eqx.combine(arrays, rest)), compiler_options=options)
        return run(arrays)

    return call


def to_float64(tree):
    """The same numbers in float64."""
    return jax.tree.map(lambda a: a.astype(jnp.float64) if eqx.is_inexact_array(a) else a, tree)


def relative_error(got, expected):
    """The largest difference over all arrays, relative to each array's largest value.

    An array that should be all zeros has only rounding errors in it, so no array counts as smaller than a tenth of the
    largest. In NumPy, which has nothing to compile.
    """
    got, expected = (
        [np.asarray(a) for a in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))] for tree in (got, expected)
    )
    assert [a.shape for a in got] == [a.shape for a in expected]
    with np.errstate(all="ignore"):  # what is not finite is found below
        sizes = [float(np.max(np.abs(a), initial=0)) for a in expected]
        gaps = [float(np.max(np.abs(a - b.astype(a.dtype)), initial=0)) for a, b in zip(got, expected, strict=True)]
    scale = max(sizes, default=0.0)
    assert all(gap == gap for gap in gaps), "NaN"
    return max((gap / max(size, scale / 10, 1e-30) for gap, size in zip(gaps, sizes, strict=True)), default=0.0)
