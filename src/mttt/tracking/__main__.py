"""The process of one tracker: python -m mttt.tracking

On its input, a line of JSON says which tracker and which run; the end of the input says that the training is over,
however it ended. On its output, lines of JSON say where the numbers are, or why there are none.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from mttt.tracking.follow import follow
from mttt.tracking.tail import Tail
from mttt.tracking.tracker import Tracked, Tracker
from mttt.tracking.trackers import TRACKERS

_LONGEST = 300


def main() -> None:
    """Read the request, follow the run, end."""
    os.nice(10)  # the training goes first
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # packages print what nobody reads here

    def tell(**what: str) -> None:
        print(json.dumps(what), file=answers, flush=True)

    def fail(error: BaseException | None) -> NoReturn:
        tell(failed=_reason(error))
        os._exit(1)

    threading.excepthook = lambda arguments: fail(arguments.exc_value)  # packages write in threads of their own
    try:
        request: dict[str, Any] = json.loads(sys.stdin.readline())
        kind, tracked = TRACKERS[request["tracker"]], Tracked(**request["run"])
        over = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()

        def make() -> Tracker:
            tracker = kind.load()(tracked)
            tell(where=tracker.where)
            return tracker

        follow(Tail(Path(tracked.path) / "metrics.jsonl"), make, over)
    except BaseException as error:
        fail(error)
    os._exit(0)  # everything has arrived; threads of packages are not waited for


def _reason(error: BaseException | None) -> str:
    """The first line of what an exception says, and not too much of it."""
    text = next(iter(str(error).strip().splitlines()), "")
    name = type(error).__name__
    return (text if isinstance(error, OSError) and text else f"{name}: {text}" if text else name)[:_LONGEST]


if __name__ == "__main__":
    main()
