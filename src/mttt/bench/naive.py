"""MTTT written plainly: what the fast layer is compared with, for speed and for equal results.

The reconstruction is made, d wide, for every token and head; the inner gradient is `jax.grad` of its loss; the steps
are unrolled; heads are `vmap`; nothing is recomputed on purpose.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.inner import LinearLearner, MLPLearner, Zeros
from mttt.mixers import TTT, Mixed, Mixer


class NaiveTTT(Mixer):
    """The layer of `TTT`, naively: one η = 1 step after the other on all tokens."""

    parts: dict[str, Array]  # one of each for every head
    g_bias: Float[Array, " d"]
    h_bias: Float[Array, " d"]
    eps: float = eqx.field(static=True)
    divisor: float = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    def __init__(self, layer: TTT):
        """The same function as a TTT layer with a linear or an MLP learner."""
        task: Any = layer.task
        start: Any = layer.start
        heads = task.g.weight.shape[0]
        if isinstance(start, Zeros):
            learner = jax.vmap(lambda _: start.written_out(task.g.weight.dtype))(jnp.arange(heads))
        else:
            learner = start.learner
        parts = {"psi_a": layer.psi.weight, "psi_b": layer.psi.bias, "h": layer.merge.weight, "g": task.g.weight}
        parts |= {"phi_a": task.phi.weight, "phi_b": task.phi.bias}
        if task.decoder_norm is not None:
            parts |= {"gamma": task.decoder_norm.scale, "beta": task.decoder_norm.shift}
        match learner:
            case LinearLearner():
                parts["a"] = learner.weight
            case MLPLearner():
                parts |= {"a1": learner.up.weight, "b1": learner.up.bias}
                parts |= {"a2": learner.down.weight.swapaxes(1, 2), "b2": learner.down.bias}
        self.parts = parts
        self.g_bias, self.h_bias = task.g.bias.value, layer.merge.bias
        self.eps = 0.0 if task.decoder_norm is None else task.decoder_norm.eps
        self.divisor = task.divisor
        self.steps = layer.batching.steps

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        if mask is not None:
            raise ValueError("NaiveTTT takes no mask")

        def head(p: dict[str, Array]) -> Float[Array, "n k"]:
            weights = {name: p[name] for name in p if name in ("a", "a1", "b1", "a2", "b2")}

            def f(w, x):
                if "a" in w:
                    return x @ w["a"]
                return jax.nn.gelu(x @ w["a1"] + w["b1"][None, :], approximate=True) @ w["a2"] + w["b2"][None, :]

            def loss(w):
                o = f(w, tokens @ p["phi_a"] + p["phi_b"][None, :]) @ p["g"] + self.g_bias[None, :]
                if "gamma" in p:
                    o = o - jnp.mean(o, axis=1, keepdims=True)
                    o = o / jnp.sqrt(jnp.mean(o**2, axis=1, keepdims=True) + self.eps)
                    o = o * p["gamma"][None, :] + p["beta"][None, :]
                return 0.5 * jnp.mean(jnp.sum((o - tokens) ** 2, axis=1)) / self.divisor

            for _ in range(self.steps):
                weights = jax.tree.map(lambda w, g: w - g, weights, jax.grad(loss)(weights))
            return f(weights, tokens @ p["psi_a"] + p["psi_b"][None, :])

        features = jax.vmap(head)(self.parts)
        return Mixed(jnp.einsum("hnk,hkd->nd", features, self.parts["h"]) + self.h_bias[None, :])
