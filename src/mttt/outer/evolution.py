"""Evolution strategies (Salimans et al., 2017): the outer loop without a gradient."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from mttt.nn import trainable
from mttt.outer.objective import Objective, Score
from mttt.outer.rule import Rule, Stepped, update


class EvolutionStrategies(Rule):
    """An Optax update with an estimate of the gradient that takes forward passes only.

    For every one of `pairs` antithetic pairs, ε is standard normal noise in the shape of the parameters, and

        (ℒ(θ + σε) − ℒ(θ − σε)) / 2σ · ε

    is an unbiased estimate of the gradient of ℒ smoothed by noise of size σ; the direction is their mean. Its error
    falls with the square root of the number of pairs, and grows with that of the number of parameters. Nothing is
    differentiated, so learners and tasks need no second derivative, and no memory is kept for a backward pass.

    Both sides of all pairs see the same rows and the same key. Noise is made from its key where it is used, a pair at a
    time. The score is the mean of the perturbed models', not the model's own, which is never evaluated here.
    """

    optimizer: optax.GradientTransformation = eqx.field(static=True)
    pairs: int = eqx.field(static=True)
    sigma: float = eqx.field(static=True)

    def __init__(self, optimizer: optax.GradientTransformation, *, pairs: int, sigma: float):
        """`sigma` is the size of the noise, in the units of the parameters."""
        if pairs < 1:
            raise ValueError(f"pairs={pairs}: must be 1 or more")
        if not sigma > 0:
            raise ValueError(f"sigma={sigma}: must be above 0")
        self.optimizer, self.pairs, self.sigma = optimizer, pairs, sigma

    def init(self, model: Any) -> PyTree:
        """The optimizer's state."""
        return self.optimizer.init(eqx.filter(model, trainable(model)))

    def step(self, objective: Objective, model: Any, state: PyTree, batch: Any, key: PRNGKeyArray) -> Stepped:
        """One estimate, one update."""
        params, rest = eqx.partition(model, trainable(model))
        direction, score = self.estimate(objective, model, batch, key)
        params, state, finite = update(self.optimizer, direction, params, state)
        return Stepped(eqx.combine(params, rest), state, score, finite & jnp.isfinite(score.loss))

    def estimate(self, objective: Objective, model: Any, batch: Any, key: PRNGKeyArray) -> tuple[PyTree, Score]:
        """The estimated gradient of the mean loss, and the mean score of the perturbed models."""
        params, rest = eqx.partition(model, trainable(model))
        noise_key, key = jax.random.split(key)
        rows = objective.prepare(batch, key=key)
        count = jnp.maximum(objective.count(rows), 1)  # a batch may be all fillers

        def pair(number: Int[Array, ""]) -> tuple[PyTree, Score]:
            noise = _noise(params, jax.random.fold_in(noise_key, number))

            def side(sigma: Float[Array, ""]) -> Score:
                moved = jax.tree.map(lambda p, e: p + sigma.astype(p.dtype) * e, params, noise)
                return objective(eqx.combine(moved, rest), rows, key=key)

            sides = jax.lax.map(side, jnp.array([self.sigma, -self.sigma]))
            slope = (sides.loss[0] - sides.loss[1]) / count / (2 * self.sigma * self.pairs)
            mean = jax.tree.map(lambda total: jnp.mean(total) / self.pairs, sides)
            return jax.tree.map(lambda e: slope.astype(e.dtype) * e, noise), mean

        numbers = jnp.arange(self.pairs, dtype=jnp.int32)
        nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(pair, numbers[0]))
        add = lambda total, number: (jax.tree.map(jnp.add, total, pair(number)), None)  # noqa: E731
        return jax.lax.scan(add, nothing, numbers)[0]


def _noise(params: PyTree, key: PRNGKeyArray) -> PyTree:
    """Standard normal noise in the shape of the parameters."""
    leaves, structure = jax.tree.flatten(params)
    keys = jax.random.split(key, len(leaves))
    return structure.unflatten(
        [jax.random.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(keys, leaves, strict=True)]
    )
