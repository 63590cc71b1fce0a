"""Mixers that read from left to right, and can go on where they stopped."""

import abc
from collections.abc import Callable
from typing import Any, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from mttt.inner.permute import permute
from mttt.mixers.base import Mixer
from mttt.nn.check import check_tokens


class CausalMixer(Mixer):
    """A mixer in which a token sees itself and the tokens before it, and none after.

    What the tokens so far leave behind is a state, a pytree: it can be kept, copied, saved and branched. Any cut of a
    sequence into pieces gives what one pass over all of it gives. Padding may be anywhere: places, windows and means
    count real tokens.

    To implement: `mix` of `Mixer`, `start(dtype)` and `advance(state, tokens)`; `make_room` for a state that grows.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Sum(mttt.CausalMixer):  # of the tokens so far
        ...     dim: int = eqx.field(static=True)
        ...     def __init__(self, dim, heads, *, key):
        ...         self.dim = dim
        ...     def start(self, dtype=None):
        ...         return jnp.zeros((1, self.dim), dtype)
        ...     def advance(self, state, tokens):
        ...         sums = state + jnp.cumsum(tokens, axis=0)
        ...         return sums, sums[-1:]
        ...     def mix(self, tokens, *, mask, key, trace):
        ...         return mttt.Mixed(self.advance(self.start(tokens.dtype), tokens)[0])
        >>> mixer, x = Sum(16, 2, key=jax.random.key(0)), jnp.ones((10, 16))
        >>> first, state = mixer.go_on(mixer.start(), x[:6])
        >>> rest, state = mixer.go_on(state, x[6:])
        >>> float(rest[-1, 0]), float(mixer(x).tokens[-1, 0])
        (10.0, 10.0)
    """

    @abc.abstractmethod
    def start(self, dtype: Any = None) -> PyTree[Array]:
        """The state before the first token. `dtype` is that of the tokens to come, JAX's default if not given.

        An axis that grows with the tokens has length 0 here; that is how `go_on` knows it.
        """

    @abc.abstractmethod
    def advance(self, state: Any, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Any]:
        """What `go_on` does, for tokens and a state that were checked."""

    def make_room(self, state: Any, count: int) -> Any:
        """A state that can take `count` more tokens. Only a state that grows with the tokens has to be made larger.

        Outside of `jax.jit`, `go_on` does it by itself. It takes states of several sequences or blocks at once, too,
        stacked along first axes.
        """
        return state

    @final
    def go_on(self, state: Any, tokens: Float[Array, "..."]) -> tuple[Float[Array, "m d"], Any]:
        """Mix the next tokens (m, d) of the sequence that the state has seen; the mixed tokens, and the next state."""
        check_tokens(tokens, None)
        check_state(state, jax.eval_shape(lambda: self.start(tokens.dtype)), type(self).__name__)
        return self.advance(self.make_room(state, tokens.shape[0]), tokens)


def over_real(
    mix: Callable[[Float[Array, "n d"]], Float[Array, "n e"]],
    tokens: Float[Array, "n d"],
    mask: Bool[Array, " n"] | None,
) -> Float[Array, "n e"]:
    """`mix`, as if there were no padding: with the real tokens moved to the front, none of them sees any of it."""
    if mask is None:
        return mix(tokens)
    order = jnp.argsort(~mask, stable=True)
    return permute(mix(permute(tokens, order)), jnp.argsort(order))


def float_dtype(dtype: Any) -> Any:
    """The dtype that a state is made for; JAX's default if none is given."""
    return jax.dtypes.canonicalize_dtype(float if dtype is None else dtype)


def check_state(state: Any, like: Any, name: str) -> None:
    """Refuse a state that was not made by such a mixer. Where `like` has an axis of length 0, it may have grown."""
    came, expected = (jax.tree_util.tree_leaves_with_path(tree) for tree in (state, like))
    same = jax.tree.structure(state) == jax.tree.structure(like)
    if not same or not all(_fits(a, b) for (_, a), (_, b) in zip(came, expected, strict=True)):
        raise ValueError(
            f"this state is not one of this {name}: it has {_kinds(came) or 'no arrays'}, and {_kinds(expected)} "
            "are expected. Begin with start(tokens.dtype), give each state to the layer that it came from, and use "
            "jax.vmap for several sequences"
        )


def _fits(array: Any, like: Any) -> bool:
    shape = jnp.shape(array)
    return (
        jnp.result_type(array) == like.dtype
        and len(shape) == len(like.shape)
        and all(size in (0, came) for came, size in zip(shape, like.shape, strict=True))
    )


def _kinds(leaves: list[tuple[Any, Any]]) -> str:
    """Places, dtypes and shapes of all arrays; … for an axis that may grow."""
    shape = lambda array: ", ".join(str(size) if size else "…" for size in jnp.shape(array))  # noqa: E731
    return ", ".join(f"{jax.tree_util.keystr(at)} {jnp.result_type(a)}({shape(a)})".strip() for at, a in leaves)
