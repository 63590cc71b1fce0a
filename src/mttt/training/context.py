"""A language model in windows of another length than it was trained with."""

from dataclasses import replace
from typing import NamedTuple

from mttt.data import BadData, View
from mttt.data.text import EvenWindows, Windows
from mttt.fields import FieldError
from mttt.training.load import Loaded


class InContext(NamedTuple):
    """The windows to judge a model by, and the model as one that takes them."""

    view: View
    loaded: Loaded


def in_context(loaded: Loaded, view: View, context: int) -> InContext:
    """The same text in windows of `context` + 1 bytes. Whether the model can read so far, its evaluation tells."""
    windows = view.source
    if not isinstance(windows, Windows):
        raise FieldError("context", context, "is of texts, and these data are pictures")
    if not 1 <= context <= 2**26:
        raise FieldError("context", context, "expected a whole number from 1 to 2²⁶")
    if (size := windows.end - windows.begin) <= context:
        have = f"{windows.text} has {size:,} bytes to evaluate on; take at most {size - 1:,}"
        raise BadData(f"context={context}: a window has one byte more than that, and {have}")
    longer = EvenWindows(replace(windows, context=context))
    prepared = replace(loaded.prepared, spec=replace(loaded.spec, inputs=longer.inputs))
    return InContext(longer, replace(loaded, prepared=prepared))
