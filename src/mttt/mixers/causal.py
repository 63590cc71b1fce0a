"""Mixers that read from left to right, and can go on where they stopped."""

import abc
from typing import Any, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from mttt.mixers.base import Mixer
from mttt.nn.check import check_tokens


class CausalMixer(Mixer):
    """A mixer in which a token sees itself and the tokens before it, and none after.

    What the tokens so far leave behind is a state, a pytree: it can be kept, copied, saved and branched. Any cut of a
    sequence into pieces gives what one pass over all of it gives:

        state = mixer.start()
        first, state = mixer.go_on(state, tokens[:100])
        second, state = mixer.go_on(state, tokens[100:])

    Your own causal mixer implements `mix`, `start` and `advance`.
    """

    @abc.abstractmethod
    def start(self, dtype: Any = None) -> PyTree[Array]:
        """The state before the first token. `dtype` is that of the tokens to come, JAX's default if not given."""

    @abc.abstractmethod
    def advance(self, state: Any, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Any]:
        """What `go_on` does, for tokens and a state that were checked."""

    def make_room(self, state: Any, count: int) -> Any:
        """A state that can take `count` more tokens. Only a state that grows with the tokens has to be made larger."""
        return state

    @final
    def go_on(self, state: Any, tokens: Float[Array, "..."]) -> tuple[Float[Array, "m d"], Any]:
        """Mix the next tokens (m, d) of the sequence that the state has seen; the mixed tokens, and the next state."""
        check_tokens(tokens, None)
        check_state(state, jax.eval_shape(lambda: self.start(tokens.dtype)), type(self).__name__)
        return self.advance(self.make_room(state, tokens.shape[0]), tokens)


def check_state(state: Any, like: Any, name: str) -> None:
    """Refuse a state that was not made by such a mixer. Sizes of first axes may differ: a state may have grown."""
    if _kinds(state) != _kinds(like):
        raise ValueError(
            f"this state is not one of this {name}: it has {_kinds(state) or 'no arrays'}, and {_kinds(like)} are "
            "expected. Begin with start(), and give each state to the layer that it came from"
        )


def _kinds(tree: Any) -> str:
    """Places, dtypes and shapes of all arrays but for how long they are."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return ", ".join(f"{jax.tree_util.keystr(at)} {jnp.result_type(a)}{_shape(jnp.shape(a))}" for at, a in leaves)


def _shape(shape: tuple[int, ...]) -> str:
    """Without the axis that counts tokens; by convention it is the last but one of arrays of tokens."""
    return str((*shape[:-2], "…", shape[-1]) if len(shape) > 1 else shape)
