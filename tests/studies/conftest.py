"""Trainings in this process: Optax and JAX's own attention promote dtypes."""

import jax
import pytest


@pytest.fixture(scope="module", autouse=True)
def programs_are_kept():
    """Studies drop all programs after each training, for there are many. Here the small ones serve the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "clear_caches", lambda: None)
        yield


@pytest.fixture(scope="module")
def standard_promotion():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
