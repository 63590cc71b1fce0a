"""The smallest causal mixer: the mean of the tokens so far, after a map. For tests of what is around mixers."""

import jax.numpy as jnp

import mttt
from mttt.nn import Dense


class Running(mttt.CausalMixer):
    dense: Dense

    def __init__(self, dim, heads, *, key):
        self.dense = Dense(dim, dim, key=key)

    def mix(self, tokens, *, mask, key, trace):
        return mttt.Mixed(self.advance(self.start(tokens.dtype), tokens)[0])

    def start(self, dtype=None):
        dim = self.dense.bias.shape[0]
        return {"total": jnp.zeros((dim,), dtype or float), "count": jnp.zeros((), dtype or float)}

    def advance(self, state, tokens):
        totals = state["total"][None] + jnp.cumsum(tokens, axis=0)
        counts = state["count"] + jnp.arange(1, len(tokens) + 1, dtype=tokens.dtype)
        mixed = self.dense(totals / counts[:, None])
        return mixed, {"total": totals[-1], "count": counts[-1]}
