"""XLA's own count of a program. Programs are compiled and never run, so they may be larger than the machine."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax


def shapes_of(tree: Any) -> Any:
    """Arrays as shapes: enough to compile."""
    return jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), tree)


@contextlib.contextmanager
def written_out() -> Iterator[None]:
    """In here, programs are traced without blocks, with loops unrolled and nothing recomputed: XLA can count them."""
    scan = jax.lax.scan

    def unrolled(*arguments, **options):
        return scan(*arguments, **{**options, "unroll": True})

    def plain(function, *_, **__):
        return function

    with (
        mock.patch.object(jax.lax, "scan", unrolled),
        mock.patch.object(jax, "checkpoint", plain),
        mock.patch("mttt.inner.adjoint._split", return_value=None),
    ):
        yield


def flops(function: Callable, *arguments: Any) -> float:
    """XLA's count for a program with loops written out. Arguments may be arrays or their shapes."""
    with written_out():
        # A new function: JAX would find the trace of the old one.
        lowered = jax.jit(lambda *arguments: function(*arguments)).lower(*shapes_of(arguments))
    compiled: Any = lowered.compile(compiler_options={"xla_backend_optimization_level": "0"})
    return compiled.cost_analysis()["flops"]
