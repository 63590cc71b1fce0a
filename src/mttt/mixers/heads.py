"""Multi-head, once for all mixers.

A mixer writes what one head does. Its parameters are stacked along a leading axis of H, but for those marked `Shared`;
`over_heads` runs all heads at once and `Merge` is the projection h that adds their outputs up.
"""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.nn.check import check_whole
from mttt.nn.dense import Dense, xavier_uniform
from mttt.nn.roles import Shared

M = TypeVar("M")
R = TypeVar("R")


def head_width(dim: int, heads: int) -> int:
    """d/H, or an error that says what would work."""
    check_whole(dim=dim, heads=heads)
    if dim % heads:
        raise ValueError(f"heads={heads} does not divide dim={dim}; try {near_heads(dim, heads)}")
    return dim // heads


def near_heads(dim: int, heads: int) -> str:
    """Numbers of heads that divide the width."""
    fitting = [h for h in range(1, dim + 1) if dim % h == 0]
    return ", ".join(map(str, sorted(sorted(fitting, key=lambda h: abs(h - heads))[:3])))


def _is_shared(node: object) -> bool:
    return isinstance(node, Shared)


def stack_heads(make: Callable[[PRNGKeyArray], M], heads: int, *, key: PRNGKeyArray) -> M:
    """One module a head, stacked; what is `Shared` is there once."""
    stacked = eqx.filter_vmap(make)(jax.random.split(key, heads))
    return jax.tree.map(lambda node: Shared(node.value[0]) if _is_shared(node) else node, stacked, is_leaf=_is_shared)


def over_heads(head: Callable[[M], R], parts: M) -> R:
    """`head` of every head's parts; results get a leading axis of H.

    A scalar has no such axis. It is a number that `jax.jit` traced, and all heads share it.
    """
    own = lambda leaf: 0 if eqx.is_array(leaf) and leaf.ndim else None  # noqa: E731
    axes = jax.tree.map(lambda node: None if _is_shared(node) else own(node), parts, is_leaf=_is_shared)
    if _is_alone(parts, axes):
        # Without an axis of 1: on a CPU, XLA makes a slow loop of a product of a vector and a matrix that has one.
        one = jax.tree.map(lambda axis, node: node if axis is None else node[0], axes, parts, is_leaf=_is_none)
        return jax.tree.map(lambda leaf: leaf[None] if eqx.is_array(leaf) else leaf, head(one))
    return eqx.filter_vmap(head, in_axes=(axes,))(parts)


def _is_none(node: object) -> bool:
    return node is None


def _is_alone(parts: object, axes: object) -> bool:
    """Whether there is one head."""
    sizes = jax.tree.map(lambda axis, node: None if axis is None else node.shape[0], axes, parts, is_leaf=_is_none)
    return set(jax.tree.leaves(sizes)) == {1}


def spread(parts: M, axes: tuple[int, ...]) -> M:
    """A copy of every array for each head (and block)."""
    copies = lambda a: jnp.broadcast_to(a, (*axes, *a.shape)) if eqx.is_array(a) else a  # noqa: E731
    return jax.tree.map(copies, parts)


class Merge(eqx.Module):
    """h: each head's features back to width d, summed over heads, plus one bias."""

    weight: Float[Array, "heads k d"]
    bias: Float[Array, " d"]

    def __init__(self, weight: Float[Array, "heads k d"]):
        self.weight = weight
        self.bias = jnp.zeros(weight.shape[2])

    def __call__(self, features: Float[Array, "heads n k"]) -> Float[Array, "n d"]:
        merged = jnp.einsum("hnk,hkd->nd", features, self.weight.astype(features.dtype))
        return merged + self.bias.astype(features.dtype)[None, :]


def split_dense(dim: int, heads: int, *, key: PRNGKeyArray) -> Dense:
    """An affine map d → d/H for each head. The heads are slices of one d × d Xavier matrix."""
    head_width(dim, heads)
    whole = Dense(dim, dim, key=key)
    weight = whole.weight.reshape(dim, heads, -1).transpose(1, 0, 2)
    return eqx.tree_at(lambda d: (d.weight, d.bias), whole, (weight, whole.bias.reshape(heads, -1)))


def split_merge(dim: int, heads: int, *, key: PRNGKeyArray) -> Merge:
    """h of attention layers: the heads are slices of one d × d Xavier matrix."""
    return Merge(xavier_uniform(key, (dim, dim)).reshape(heads, -1, dim))


class Views(eqx.Module):
    """Queries, keys and values of attention layers."""

    query: Dense
    key: Dense
    value: Dense

    def __init__(self, dim: int, heads: int, *, key: PRNGKeyArray):
        self.query, self.key, self.value = (split_dense(dim, heads, key=key) for key in jax.random.split(key, 3))

    def __call__(self, tokens: Float[Array, "n d"]) -> tuple[Float[Array, "n k"], ...]:
        return self.query(tokens), self.key(tokens), self.value(tokens)


def attention_parts(dim: int, heads: int, *, key: PRNGKeyArray) -> tuple[Views, Merge]:
    """What every attention layer consists of."""
    views_key, merge_key = jax.random.split(key)
    return Views(dim, heads, key=views_key), split_merge(dim, heads, key=merge_key)
