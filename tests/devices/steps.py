"""Training steps on eight emulated devices and on one, compared in a process of their own; the result as JSON lines.

python steps.py [NAME…]: mixers of `MIXERS`, on all of `PLACEMENTS`; with --quick on one that splits everything, and
MTTT-MLP on those that differ from it and from those of accumulated.py, which has steps whose gradient is accumulated.
All of it takes minutes, so the test is quick.
"""

import json
import os
import sys

os.environ["JAX_NUM_CPU_DEVICES"] = "8"

from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import mttt
from mttt.count.collectives import collectives
from mttt.data import Batch, Spec
from mttt.devices import placement_of
from mttt.inner.batching import Batching, Shuffled
from mttt.models import Size
from mttt.outer import ExactGradient
from mttt.recipes import Recipe
from mttt.training import prepare_for

SIDE, ROWS, DIM = 8, 8, 16
TOKENS = SIDE * SIDE
PLACEMENTS = {
    "data 8": {"data": 8},
    "data 2, sequence 4": {"data": 2, "sequence": 4},
    "sequence 8": {"sequence": 8},
    "sharded": {"data": 8, "sharded": True},
    "sharded, sequence 2": {"data": 4, "sequence": 2, "sharded": True},
}


QUICK = ("data 2, sequence 4",)
QUICK_MLP = ("sequence 8", "sharded, sequence 2")  # four steps of it are on the other


class InParts(Batching):
    """Mini-batches that are drawn inside each of several parts of the tokens: the plain form, on one device."""

    steps: int = eqx.field(static=True)
    parts: int = eqx.field(static=True)

    @property
    def looks(self):
        return 1

    def draw(self, n, *, mask=None, key=None):
        size = n // self.parts
        orders = []
        for part in range(self.parts):
            own = jax.random.key(0) if key is None else jax.random.fold_in(key, part)
            orders.append(part * size + jnp.argsort(jax.random.bits(own, (size,), "uint32")))
        pieces = [
            jnp.stack(orders)[:, t * size // self.steps : (t + 1) * size // self.steps] for t in range(self.steps)
        ]
        return Shuffled(self.steps, jnp.concatenate([piece.reshape(-1) for piece in pieces]))


linear = partial(mttt.Reconstruction, decoder_norm=False)
small = mttt.Recompute(block=4)
MIXERS = {
    "self-attention": mttt.SelfAttention,
    "linear-attention": mttt.LinearAttention,
    "elu-linear-attention": mttt.EluLinearAttention,
    "linformer": partial(mttt.Linformer, tokens=TOKENS, rank=8),
    "longformer": partial(mttt.Longformer, window=8),
    "soft": partial(mttt.SOFT, landmarks=8, iterations=6),
    "hyena": partial(mttt.Hyena, width=8, bands=2),
    "mttt-linear": partial(mttt.TTT, learner=mttt.LinearLearner, start=mttt.Zeros, task=linear),
    "mttt-mlp": partial(mttt.TTT, learner=mttt.MLPLearner, adjoint=small),
    "mttt-mlp-t4": partial(mttt.TTT, learner=mttt.MLPLearner, batching=mttt.FullBatch(4), adjoint=small),
    "mttt-mlp-sgd4": partial(mttt.TTT, learner=mttt.MLPLearner, batching=mttt.MiniBatches(4), adjoint=small),
    "nadaraya-watson": partial(mttt.TTT, learner=mttt.NadarayaWatson, start=mttt.Memory),
}


def prepared(mixer, accumulate=1):
    spec = Spec(jax.ShapeDtypeStruct((SIDE, SIDE, 1), np.uint8), tuple("abcd"))
    recipe = Recipe(batch_size=ROWS)
    make = partial(mttt.ViT, (SIDE, SIDE, 1), 4, size=Size(DIM, 2, 2), patch=1, mixer=mixer, head=mttt.LinearHead)
    # Plain gradient descent with rate 1: what a step changes is the gradient.
    rule = ExactGradient(optax.sgd(1.0), accumulate)
    return replace(prepare_for(recipe, spec, 100), model=lambda key: make(key=key), rule=rule)


def batch(rows=ROWS):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (rows, SIDE, SIDE, 1), np.uint8)
    return Batch(images, rng.integers(0, 4, rows, np.int32), np.ones(rows, np.float32))


class Seen:
    """What a training step and an evaluation leave behind, as NumPy."""

    def __init__(self, training, state, placement=None, *, inner, rows=ROWS):
        if placement is not None:
            training = replace(training, placement=placement)
        before, rows = state, batch(rows)
        with nullcontext() if placement is None else placement():
            if placement is not None:
                before, rows = placement.put(state), placement.put_rows(rows)
            self.inner = None
            if inner:
                self.inner = np.asarray(eqx.filter_jit(training.objective.measure)(before.model, rows).losses)
            compiled = training.program().lower(rows).compile()
            self.text = compiled.as_text()
            old = self._arrays(before.model)
            after, _ = compiled(eqx.filter(before, eqx.is_array), rows)
        self.loss = float(after.totals.loss)
        self.gradient = [a - b for a, b in zip(old, self._arrays(after.model), strict=True)]

    def _arrays(self, model):
        return [np.array(leaf) for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))]


def fresh(state):
    """Arrays of their own: a step reuses the memory of the state that it is given."""
    return jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, state)


def apart(one, other):
    return float(np.max(np.abs(one - other)) / (np.max(np.abs(other)) + 1e-30))


def compare(name, quick):
    mixer, inner = MIXERS[name], name.startswith("mttt")
    state = prepared(mixer).state()
    chosen = PLACEMENTS if not quick else QUICK_MLP if name == "mttt-mlp" else QUICK

    @cache
    def on_one_device(parts):
        """With mini-batches that are drawn inside so many parts of the tokens."""
        if parts == 1:
            return Seen(prepared(mixer), fresh(state), inner=inner)
        other = prepared(partial(mixer, batching=InParts(4, parts)))
        return Seen(other, other.state(), inner=inner)

    for where in chosen:
        asked = PLACEMENTS[where]
        expected = on_one_device(asked.get("sequence", 1) if name == "mttt-mlp-sgd4" else 1)
        largest = max(float(np.max(np.abs(each))) for each in expected.gradient)
        got = Seen(prepared(mixer), fresh(state), placement_of(**asked), inner=inner)
        errors = [float(np.max(np.abs(a - b))) / largest for a, b in zip(got.gradient, expected.gradient, strict=True)]
        gathered = [one.bytes for one in collectives(got.text) if one.kind in ("all-gather", "all-to-all")]
        yield {
            "mixer": name,
            "placement": where,
            "loss": abs(got.loss - expected.loss) / abs(expected.loss),
            "gradient": max(errors),
            "inner": None if expected.inner is None else apart(got.inner, expected.inner),
            "gathered": max(gathered, default=0),
            "reduced": sum(one.kind == "all-reduce" for one in collectives(got.text)),
        }


if __name__ == "__main__":
    words = sys.argv[1:]
    for name in [word for word in words if word != "--quick"] or MIXERS:
        for line in compare(name, "--quick" in words):
            print(json.dumps(line), flush=True)
