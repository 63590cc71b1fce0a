"""Does the installed compiler compute right numbers?

jaxlib 0.10.2 and 0.11.0 to 0.11.2 do not: on CPUs, a sum over the rows of a batched product is off by more than its
values once the batch is large enough for threads to share (jax issues 39103 and 39257). It hits the bias gradient of a
learner. The requirements exclude those versions; this check catches them where somebody installed one all the same.
"""

from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np


class WrongNumbers(RuntimeError):
    """The compiler fails a sum that was done by hand."""


def self_check() -> None:
    """Raise `WrongNumbers` if a jitted batched product disagrees with NumPy in float64."""
    rng = np.random.default_rng(0)
    batch, heads, n, k, m = 64, 2, 16, 8, 32
    a = rng.normal(size=(batch, heads, n, k)).astype(np.float32)
    w = rng.normal(size=(heads, m, k)).astype(np.float32)

    @jax.jit
    def compiled(a, w):
        repeated = jnp.broadcast_to(w[None], (batch, heads, m, k))
        return (a @ repeated.swapaxes(-1, -2)).sum(2)

    expected = np.einsum("bhnk,hmk->bhm", a.astype(np.float64), w.astype(np.float64))
    error = np.max(np.abs(np.asarray(compiled(a, w)) - expected)) / np.max(np.abs(expected))
    if not error < 1e-2:  # bfloat16 passes of TPUs are within; the bug is off by more than 1
        raise WrongNumbers(
            f"jaxlib {version('jaxlib')} computes wrong numbers on this machine: a batched matrix product is off by "
            f"{error:.2g} of its largest value. Training would silently go wrong. Install a version that is right, for "
            'example: pip install "jax==0.10.1" "jaxlib==0.10.1"'
        )
