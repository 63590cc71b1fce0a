"""One step of one head's inner loop, in numbers: the question, the answers, the gradient and the new weights."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from mttt.inner import GradientDescent
from mttt.inner.learner import answers_of
from mttt.inner.task import Compared
from mttt.mixers import TTT
from mttt.mixers.heads import over_heads
from mttt.watch.packed import packed, plain


class HeadSteps(NamedTuple):
    """All steps of one head, and one token's part in them."""

    weights: PyTree[Array]
    """W_0 … W_T"""
    gradients: PyTree[Array]
    shares: PyTree[Array]
    """the token's, of every gradient"""
    phi: Float[Array, " k"]
    answers: Float[Array, "T+1 k"]
    compared: Compared | None
    """targets and decoded answers of the token at every t"""
    losses: Float[Array, "T+1"]
    rate: Float[Array, " T"]
    """NaN where the rule has no η"""


@eqx.filter_jit
def steps_of(
    mixer: TTT, tokens: Float[Array, "depth n d"], layer: Int[Array, ""], head: Int[Array, ""], token: Int[Array, ""]
) -> HeadSteps:
    """Of one layer and head of the stacked mixers, on the tokens that come into each: one program for all of them."""
    one = jax.tree.map(lambda leaf: leaf[layer] if eqx.is_array(leaf) and leaf.ndim else leaf, mixer)
    rows = tokens[layer]
    way = one.trajectory(rows, token=token)

    def of_head(parts: Any) -> Any:
        task, optimizer, learner = parts
        inputs = task.problem(rows).inputs

        def at(learner: Any) -> Any:
            answers = answers_of(learner, inputs)[token][None]
            compared = task.compare(rows[token][None], answers)
            return answers[0], None if compared is None else Compared(compared.name, *(a[0] for a in compared[1:]))

        found = eqx.filter_vmap(at)(learner)
        known = isinstance(optimizer, GradientDescent)
        rate = lambda t: jnp.asarray(optimizer.rate_at(t) if known else jnp.nan, jnp.float32)  # noqa: E731
        return inputs[token], found, jnp.stack([rate(t) for t in range(one.batching.steps)])

    views = over_heads(of_head, (one.task, one.optimizer, way.carries.learner))
    losses = one.report(way.losses)[:, :, token]
    phi, (answers, compared), rate = views
    every = HeadSteps(way.carries.weights, way.gradients, way.shares, phi, answers, compared, losses, rate)
    return jax.tree.map(lambda leaf: leaf[head] if eqx.is_array(leaf) else leaf, every)


def update_of(steps: HeadSteps, t: int) -> dict[str, Any]:
    """The step from W_t to W_{t+1}, as the page gets it."""
    weights, gradients, shares = map(_named, (steps.weights, steps.gradients, steps.shares))
    rate = float(steps.rate[t])
    parts = [
        {
            "name": name,
            "shape": list(values.shape[1:]),
            "before": packed(values[t]),
            "gradient": packed(gradients[name][t]),
            "own": packed(shares[name][t]),
            "after": packed(values[t + 1]),
        }
        for name, values in weights.items()
    ]
    compared, after = steps.compared, t + 1
    return {
        "space": None if compared is None else compared.name,
        "phi": plain(steps.phi),
        "answer_before": plain(steps.answers[t]),
        "answer_after": plain(steps.answers[after]),
        "target": None if compared is None else plain(compared.targets[t]),
        "before": None if compared is None else plain(compared.answers[t]),
        "after": None if compared is None else plain(compared.answers[after]),
        "loss_before": plain(steps.losses[t]),
        "loss_after": plain(steps.losses[after]),
        "rate": plain(rate),
        "parts": parts,
        "sample": _sample(weights, gradients, t),
        "exact": bool(np.isfinite(rate)),
    }


def _sample(weights: dict[str, np.ndarray], gradients: dict[str, np.ndarray], t: int) -> dict[str, Any]:
    """The entry of W that changes most."""
    change = {name: np.abs(values[t + 1] - values[t]) for name, values in weights.items()}
    name = max(change, key=lambda name: np.nan_to_num(change[name]).max())
    index = np.unravel_index(np.nan_to_num(change[name]).argmax(), change[name].shape)
    numbers = {
        "before": weights[name][t][index],
        "gradient": gradients[name][t][index],
        "after": weights[name][t + 1][index],
    }
    return {"part": name, "index": [int(i) for i in index], **{key: plain(value, 9) for key, value in numbers.items()}}


def _named(tree: Any) -> dict[str, np.ndarray]:
    """Arrays of W by their names in the learner, such as `up.weight`."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path).lstrip("."): np.asarray(leaf) for path, leaf in leaves}
