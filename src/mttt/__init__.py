"""Test-time-training layers in JAX: drop-in replacements for attention that learn on every input.

The inner loop is learner × task × optimizer × batching (`mttt.inner`); a `TTT` layer is an inner loop in the place of
attention (`mttt.mixers`); `ViT` is a model around any mixer (`mttt.models`). `mttt/public.py` has all public names.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mttt.version import __version__ as __version__

if TYPE_CHECKING:
    from mttt.public import *  # noqa: F403
    from mttt.training import load as load

_ELSEWHERE = {"load": "mttt.training"}  # what needs more than layers do, such as readers of pictures: seconds to import


def __getattr__(name: str) -> Any:
    """A public name, when it is first asked for: `mttt --help` should not take the second that JAX does."""
    public = None if name.startswith("_") else import_module(_ELSEWHERE.get(name, "mttt.public"))
    if not hasattr(public, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(public, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ELSEWHERE, *vars(import_module("mttt.public"))})
