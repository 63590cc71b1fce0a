"""The program in this process, and a small trained run for it."""

import shlex
import shutil
from functools import partial
from pathlib import Path

from fuzz.ground import Case, Ground

_TINY = "--model.mixer mttt-linear --model.dim 8 --model.depth 1 --model.patch 4 --batch-size 64 --log-every 2"
TINY = _TINY.split()
TRAIN = ["train", "digits", *TINY, "--epochs", "0.3", "--evaluate-every", "0.2", "--checkpoint-every", "0.15"]


def call(words: list[str]) -> None:
    """As `mttt WORD …`."""
    from mttt.cli.main import main

    main(words)


def case(lines: list[list[str]], before: str = "") -> Case:
    """Some lines, one after the other."""
    story = [f"  mttt {shlex.join(words)!a}" for words in lines]
    return Case([partial(call, words) for words in lines], "\n".join(([f"  {before!a}"] if before else []) + story))


def trained(ground: Ground) -> Path:
    """A finished run of six steps, with its checkpoints."""
    return ground.make("trained", partial(call, [*TRAIN, "--run", "run"])) / "run"


def copied(source: Path, to: Path) -> None:
    shutil.copytree(source, to, symlinks=True)


def draw_picture(path: Path) -> None:
    from data.pictures import making

    path.write_bytes(making.picture(3))
