"""Short names for runs that are shown together."""

from collections.abc import Sequence
from pathlib import Path


def short_names(paths: Sequence[Path]) -> list[str]:
    """The end of each path, as long as it takes for all to be different: `seed-0` of one study, `b/seed-0` of two."""
    parts = [path.absolute().parts for path in paths]
    for many in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-many:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]
