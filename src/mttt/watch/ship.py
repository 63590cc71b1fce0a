"""python -m mttt.watch.ship RUN FILE: make a small file of a trained model, as those that ship with the package."""

import sys
from pathlib import Path

from mttt.watch.compact import write_compact


def main(words: list[str]) -> None:
    """Write the file, and say how good and how large it is."""
    if len(words) != 2:
        sys.exit("usage: python -m mttt.watch.ship RUN FILE.npz")
    file = Path(words[1])
    result = write_compact(Path(words[0]), file).result
    print(f"{file}: {file.stat().st_size:,} bytes, {result}")


if __name__ == "__main__":
    main(sys.argv[1:])
