"""Trainings in this process: Optax and JAX's own attention promote dtypes."""

import jax
import pytest


@pytest.fixture(scope="module")
def standard_promotion():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
