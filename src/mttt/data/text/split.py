"""From a text to a data set: the first part is to train on, the last to evaluate on."""

from mttt.data.dataset import DataSet
from mttt.data.errors import BadData
from mttt.data.text.alphabet import BYTES
from mttt.data.text.text import Text
from mttt.data.text.windows import EvenWindows, MovedWindows, Windows


def held_out(size: int, holdout: float) -> int:
    """How many bytes at the end of a text are not trained on."""
    return round(size * holdout)


def split_text(text: Text, *, context: int, holdout: float = 0.1, ignored: tuple[str, ...] = ()) -> DataSet:
    """Windows of `context` + 1 bytes. The last bytes, a part `holdout` of all, are held out.

    Neighbours in a text resemble each other, so windows are not held out at random.
    """
    if context < 1:
        raise ValueError(f"context={context}: expected a whole number, 1 or more")
    if not 0 < holdout < 1:
        raise ValueError(f"holdout={holdout}: take a number between 0 and 1, for something to evaluate on")
    last = held_out(len(text), holdout)
    first = len(text) - last
    for part, size, other in (("train", first, "less"), ("evaluate", last, "more")):
        if size <= context:
            have = f"{text} has {len(text):,} bytes, of which {size:,} would be there to {part} on"
            least = min(first, last)
            ways = f"Take a context below {least:,}, hold {other} out, or add text" if least > 1 else "Add text"
            raise BadData(f"context={context}: a window has one byte more than that, and {have}. {ways}")
    return DataSet(
        MovedWindows(Windows(text, 0, first, context)),
        EvenWindows(Windows(text, first, len(text), context)),
        BYTES,
        "held-out",
        ignored,
    )
