"""From a file that grows to a tracker."""

from collections.abc import Callable
from threading import Event

from mttt.tracking.tail import Rewound, Tail
from mttt.tracking.tracker import Tracker


def follow(tail: Tail, make: Callable[[], Tracker], over: Event, *, pause: float = 0.5) -> None:
    """Tell a tracker every record until it is over, and what was written until then.

    Where the file was rewound, the tracker is opened again and told everything, as after a training that was resumed.
    """
    tracker = make()
    while True:
        last = over.is_set()  # asked before reading
        try:
            for record in tail.new():
                tracker.record(record)
        except Rewound:
            tracker.close()
            tracker = make()
            continue
        if last:
            break
        over.wait(pause)
    tracker.close()
    tail.close()
