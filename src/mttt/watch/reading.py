"""A text on its way through a language model: what every byte costs, and what is learned while it is read."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, UInt8

from mttt.inner import Carry
from mttt.mixers import frozen, has_inner_loop
from mttt.models import LM, TextState
from mttt.watch.packed import packed, plain

LIKELY = 5
"""how many of the bytes that are expected most"""
_PIECES = ((1024, 16), (8192, 128), (None, 1024))
"""bytes of a text, and how many of them are read at a time: few programs, and a curve of ‖W − W₀‖ with many points"""


class Piece(NamedTuple):
    """What the model expected after each byte of a piece, and what it has learned at the end."""

    losses: Float[Array, " m"]
    """of the bytes that came after each, in nats"""
    likely: Int[Array, "m top"]
    probabilities: Float[Array, "m top"]
    distance: Float[Array, "depth heads"] | None


class WholeText(NamedTuple):
    """The pieces of a whole text."""

    losses: np.ndarray
    likely: np.ndarray
    probabilities: np.ndarray
    distances: dict[int, np.ndarray]
    """‖W − W₀‖ of each layer and head after so many bytes; empty without an inner loop"""


@eqx.filter_jit
def _read(
    model: LM, state: TextState, first: Any, tokens: Integer[Array, " m"], after: Integer[Array, " m"]
) -> tuple[TextState, Piece]:
    logits, state = model.go_on(state, tokens)
    logs = jax.nn.log_softmax(logits)
    losses = -jnp.take_along_axis(logs, after.astype(jnp.int32)[:, None], axis=1)[:, 0]
    top, likely = jax.lax.top_k(logs, min(LIKELY, logs.shape[1]))
    return state, Piece(losses, likely, jnp.exp(top), _distance(weights_of(state), first))


def weights_of(state: TextState) -> Any:
    """W of every layer and head, after the last complete chunk; None without an inner loop."""
    is_carry = lambda node: isinstance(node, Carry)  # noqa: E731
    carries = [node for node in jax.tree.leaves(state, is_leaf=is_carry) if is_carry(node)]
    return carries[0].weights if carries else None


def _distance(weights: Any, first: Any) -> Float[Array, "depth heads"] | None:
    if weights is None:
        return None
    squares = jax.tree.map(lambda a, b: jnp.sum((a - b) ** 2, axis=tuple(range(2, a.ndim))), weights, first)
    return jnp.sqrt(sum(jax.tree.leaves(squares)))


def course(model: LM, text: UInt8[np.ndarray, " n"]) -> WholeText:
    """Read a text from its beginning to its end."""
    n, size = len(text), next(size for most, size in _PIECES if most is None or len(text) <= most)
    state = model.make_room(model.start(), -(-n // size) * size)
    first, pieces = weights_of(state), []
    distances = {} if first is None else {0: np.zeros(jax.tree.leaves(first)[0].shape[:2])}
    for begin in range(0, n, size):
        # A last piece is filled up with what no byte before it sees. Where there is no place for that, it is short.
        fits = model.most is None or begin + size <= model.most
        tokens = _filled(text[begin : begin + size], size if fits else n - begin)
        after = _filled(text[begin + 1 : begin + size + 1], len(tokens))
        state, piece = _read(model, state, first, jnp.asarray(tokens), jnp.asarray(after))
        pieces.append(jax.tree.map(np.asarray, piece))
        if begin + size <= n and piece.distance is not None:
            distances[begin + size] = pieces[-1].distance
    joined = (np.concatenate([piece[place] for piece in pieces])[: n - 1] for place in range(3))
    return WholeText(next(joined), next(joined), next(joined), distances)


def _filled(text: UInt8[np.ndarray, " n"], size: int) -> UInt8[np.ndarray, " m"]:
    return np.pad(text, (0, size - len(text)))


def reading(model: LM, text: bytes) -> dict[str, Any]:
    """All that the page shows of a text, but for the time that it took."""
    bytes_ = np.frombuffer(text, np.uint8)
    found = course(model, bytes_)
    still = course(frozen(model), bytes_).losses if has_inner_loop(model) else None
    rows = zip(found.likely.tolist(), plain(found.probabilities, 4), strict=True)
    return {
        "bytes": bytes_.tolist(),
        "loss": [None, *plain(found.losses, 5)],
        "frozen": None if still is None else [None, *plain(still, 5)],
        "likely": [[], *([list(pair) for pair in zip(*row, strict=True)] for row in rows)],
        "distance": _curve(found.distances),
        "state_bytes": _bytes(model, len(text)),
        "state_grows": _bytes(model, 2**20) > _bytes(model, 1),
    }


def _curve(distances: dict[int, np.ndarray]) -> dict[str, Any] | None:
    if not distances:
        return None
    return {"positions": list(distances), "values": packed(np.stack(list(distances.values()), axis=-1))}


def _bytes(model: LM, count: int) -> int:
    """What the state takes that has room for so many bytes of text."""
    state = eqx.filter_eval_shape(lambda model: model.make_room(model.start(), count), model)
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
