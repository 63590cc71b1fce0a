"""Trainings in this process: Optax and JAX's own attention promote dtypes."""

import os

import jax
import pytest


@pytest.fixture(scope="module")
def standard_promotion():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def kept_programs(compilation_cache):
    """A grid forgets programs after every run; here they are kept on disk."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update(names[0], os.environ["JAX_COMPILATION_CACHE_DIR"])
    jax.config.update(names[1], 0.1)
    yield
    for name, value in before.items():
        jax.config.update(name, value)
