"""Learners without weights: the Nadaraya–Watson estimator (eq. 8), which is self-attention for one kernel (eq. 9)."""

import abc
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.inner.learner import NonParametric
from mttt.nn.check import check_finite, check_instance, check_rows, check_tokens
from mttt.nn.roles import Constant, constant_unless_array, value_of


class Kernel(eqx.Module):
    """κ(x, x′), how alike two points are, as its logarithm so that no exponential overflows.

    To implement: `log(queries, points)`. A part that is the same for all points may be left out: the estimator divides
    it out.

    Example:

        >>> from functools import partial
        >>> import jax, jax.numpy as jnp, mttt
        >>> class Laplace(mttt.Kernel):  # κ(x, x′) = exp(−‖x − x′‖₁)
        ...     def log(self, queries, points):
        ...         return -jnp.sum(jnp.abs(queries[:, None] - points[None]), axis=2)
        >>> learner = mttt.NadarayaWatson(8, kernel=Laplace())
        >>> learner.fit(jnp.eye(8), jnp.eye(8))(jnp.ones((3, 8))).shape
        (3, 8)
    """

    @abc.abstractmethod
    def log(self, queries: Float[Array, "m k"], points: Float[Array, "n k"]) -> Float[Array, "m n"]:
        """log κ(queryᵢ, pointⱼ), (m, n), of queries (m, k) and points (n, k)."""


class ExponentialKernel(Kernel):
    """κ(x, x′) = exp(x·x′ · scale), with which the estimator is softmax attention.

    Arguments:
    - scale: k^(−½) by default, as in attention. A number is fixed; an array () is learned by the outer loop

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> mttt.ExponentialKernel(scale=0.5).log(jnp.ones((1, 4)), jnp.ones((2, 4))).tolist()
        [[2.0, 2.0]]
    """

    scale: Constant | Float[Array, ""]

    def __init__(self, scale: float | Float[Array, ""] | None = None):
        if scale is not None:
            check_finite(scale=scale)
        self.scale = constant_unless_array(scale)

    def log(self, queries: Float[Array, "m k"], points: Float[Array, "n k"]) -> Float[Array, "m n"]:
        scale = value_of(self.scale)
        scale = queries.shape[1] ** -0.5 if scale is None else scale
        return (queries @ points.T) * scale


class GaussianKernel(Kernel):
    """κ(x, x′) = exp(−‖x − x′‖² / 2h²), symmetric in its arguments.

    `log` leaves out −‖x‖² / 2h² of the query x: it is the same for all points, and the estimator divides it out.

    Arguments:
    - bandwidth: h, by default k^¼. A number is fixed; an array () is learned by the outer loop

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> learner = mttt.NadarayaWatson(2, kernel=mttt.GaussianKernel(0.1))
        >>> points = jnp.array([[0.0, 0.0], [1.0, 1.0]])
        >>> learner.fit(points, 2 * points)(points).tolist()  # with a small h, the label of the nearest point
        [[0.0, 0.0], [2.0, 2.0]]
    """

    bandwidth: Constant | Float[Array, ""]

    def __init__(self, bandwidth: float | Float[Array, ""] | None = None):
        if bandwidth is not None:
            check_finite(above=0.0, bandwidth=bandwidth)
        self.bandwidth = constant_unless_array(bandwidth)

    def log(self, queries: Float[Array, "m k"], points: Float[Array, "n k"]) -> Float[Array, "m n"]:
        bandwidth = value_of(self.bandwidth)
        scale = queries.shape[1] ** -0.5 if bandwidth is None else bandwidth**-2
        # ‖x‖² is the same for every point, and the estimator divides it out: leave it out.
        return (queries @ points.T - 0.5 * jnp.sum(points**2, axis=1)[None, :]) * scale


class Fitted(eqx.Module):
    """The estimator with its data: a locally weighted average of the labels where the mask is True."""

    kernel: Kernel
    points: Float[Array, "n k"]
    labels: Float[Array, "n k"]
    mask: Bool[Array, " n"] | None

    def __call__(self, inputs: Float[Array, "m k"], *, key: PRNGKeyArray | None = None) -> Float[Array, "m k"]:
        check_rows(inputs, self.points.shape[1])
        logs = self.kernel.log(inputs, self.points)
        where = None if self.mask is None else jnp.broadcast_to(self.mask[None, :], logs.shape)
        return jax.nn.softmax(logs, axis=1, where=where) @ self.labels


@final
class NadarayaWatson(NonParametric):
    """Learns by heart: answers with the average of the labels yᵢ, weighted by κ(x, xᵢ).

        f(x) = Σᵢ κ(x, xᵢ) yᵢ / Σᵢ κ(x, xᵢ)

    It has no weights, so it starts with `Memory` and takes no steps. With the exponential kernel, a `TTT` layer of it
    is self-attention. Its time and memory grow with n².

    Arguments:
    - width: k, the width of the head; not used, as there is no W to shape
    - kernel: κ; `ExponentialKernel()` by default
    - key: not used, as there is nothing to draw

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> queries, points, labels = jax.random.normal(jax.random.key(0), (3, 10, 8))
        >>> answers = mttt.NadarayaWatson(8).fit(points, labels)(queries)
        >>> bool(jnp.allclose(answers, jax.nn.softmax(queries @ points.T / 8**0.5) @ labels, atol=1e-5))
        True

    Reference: Sun et al. (2023), *Learning to (Learn at Test Time)*, arXiv 2310.13807, equations 8 and 9.
    """

    kernel: Kernel

    def __init__(self, width: int, *, kernel: Kernel | None = None, key: PRNGKeyArray | None = None):
        del width, key  # the signature of every learner; there is no W to shape or to draw
        self.kernel = ExponentialKernel() if kernel is None else kernel
        check_instance("kernel", self.kernel, Kernel, "GaussianKernel()")

    def fit(
        self, inputs: Float[Array, "n k"], labels: Float[Array, "n k"], mask: Bool[Array, " n"] | None = None
    ) -> Fitted:
        check_tokens(inputs, mask)
        check_tokens(labels, mask)
        if len(labels) != len(inputs):
            raise ValueError(f"{len(labels)} labels of {len(inputs)} tokens; expected one label for each token")
        return Fitted(self.kernel, inputs, labels, mask)
