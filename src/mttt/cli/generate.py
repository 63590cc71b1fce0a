"""mttt generate"""

import os
import sys
import time
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import tyro
from rich.console import Console

from mttt.cli.arguments import UsageError, refusing
from mttt.cli.parsing import parsed
from mttt.cli.surprise import Coloured, Plain, Shown
from mttt.cli.waiting import Waiting, waiting
from mttt.data.text import BYTES
from mttt.files import contents
from mttt.models import Draw, Writer
from mttt.models.writer import COLDEST, HOTTEST
from mttt.outer import self_check
from mttt.recipes.purpose import TextData
from mttt.training import load
from mttt.training.memory import memory_limit

_LARGEST = 2**30  # bytes of a prompt
_MOST = 2**31 - 1


@dataclass(frozen=True)
class Arguments:
    """Let a trained language model write, byte by byte. Its weights do not change; what its layers learn is a state.

    Examples:
        mttt generate runs/shakespeare --prompt "ROMEO:" --tokens 200
        mttt generate runs/shakespeare --temperature 0.5 --show
    """

    run: tyro.conf.Positional[Path]
    """directory of the run"""
    prompt: str | None = None
    """the text to go on from, which is printed first; by default a line break"""
    prompt_file: Path | None = None
    """the same from a file of any length, which is not printed"""
    tokens: int = 500
    """how many bytes to write"""
    temperature: float = 1.0
    """above 0; the lower, the more likely the bytes that are drawn. --top-k 1 takes the likeliest byte every time"""
    top_k: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """draw from so many of the likeliest bytes only"""
    seed: int = 0
    """another seed gives another text"""
    show: bool = False
    """colour each byte by how surprising it was: −log₂ of its probability"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = parsed(Arguments, words, prog="mttt generate")
    _check(arguments)
    with refusing(), waiting("reading the model"):
        prompt = _prompt(arguments)
        loaded = load(arguments.run)
        if not isinstance(loaded.recipe.data, TextData):
            raise UsageError(
                f"{arguments.run} classifies images and writes nothing; mttt predict {arguments.run} IMAGE"
            )
        _check_room(loaded.model, len(prompt) + arguments.tokens)
        writer = Writer(loaded.model, room=len(prompt) + arguments.tokens)
    shown: Shown = Coloured(console) if arguments.show else Plain(console)
    written = islice(
        writer.write(Draw(arguments.temperature, arguments.top_k), key=jax.random.key(arguments.seed)), arguments.tokens
    )
    with waiting("compiling") as wait:  # nothing is printed meanwhile: the line would be drawn over it
        self_check()
        surprises = _read(writer, prompt, wait, keep=arguments.prompt_file is None)
        wait("compiling")
        first = list(islice(written, 1))
    begin = time.monotonic()
    for byte, bits in chain(zip(prompt.tolist(), surprises, strict=False), first, written):
        shown.add(bytes([byte]), bits)
    shown.end()
    if arguments.tokens > 1:
        speed = (arguments.tokens - 1) / max(time.monotonic() - begin, 1e-9)
        print(f"{speed:.0f} tokens/s", file=sys.stderr)
    return 0


def _check(arguments: Arguments) -> None:
    """Refuse before anything is read."""
    if arguments.prompt is not None and arguments.prompt_file is not None:
        raise UsageError("both --prompt and --prompt-file are given; take one of them")
    if not COLDEST <= arguments.temperature <= HOTTEST:
        raise UsageError(
            f"--temperature {arguments.temperature}: must be a number from {COLDEST:g} to {HOTTEST:g}; for the "
            "likeliest byte every time, say --top-k 1"
        )
    if not 1 <= arguments.tokens <= _MOST:
        raise UsageError(f"--tokens {arguments.tokens}: must be a whole number from 1 to {_MOST:,}")
    if arguments.top_k is not None and not 1 <= arguments.top_k <= len(BYTES):
        raise UsageError(f"--top-k {arguments.top_k}: must be 1 to {len(BYTES)}, the number of bytes there are")
    if not 0 <= arguments.seed < 2**32:
        raise UsageError(f"--seed {arguments.seed}: must be at least 0 and less than 2³²")


def _check_room(model: Any, tokens: int) -> None:
    """Refuse a text whose state would not fit: that of self-attention grows with it."""
    state = jax.eval_shape(lambda: model.make_room(model.start(), tokens))
    need, limit = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)), memory_limit()
    if limit is not None and need > limit:
        raise UsageError(
            f"the state of this model after {tokens:,} bytes takes {need / 2**30:.1f} GiB, and there are "
            f"{limit / 2**30:.1f}; ask for fewer --tokens, or take a mixer whose state does not grow"
        )


def _prompt(arguments: Arguments) -> np.ndarray:
    if arguments.prompt_file is not None:
        where = f"--prompt-file {arguments.prompt_file}"
        try:
            prompt = contents(arguments.prompt_file, _LARGEST)
        except OSError as error:
            raise UsageError(f"{where}: {error.strerror or error}; name a file of text") from None
    else:
        prompt, where = os.fsencode("\n" if arguments.prompt is None else arguments.prompt), "--prompt"
    if not prompt:
        raise UsageError(
            f"{where} has no bytes: there has to be one to go on from. Without a prompt it is a line break"
        )
    return np.frombuffer(prompt, np.uint8)


def _read(writer: Writer, prompt: np.ndarray, wait: Waiting, *, keep: bool) -> list[float]:
    """Read the prompt; how surprising each byte was, if that is shown later."""
    surprises: list[float] = []
    place = 0
    for bits in writer.read(prompt):
        place += len(bits)
        surprises += bits.tolist() if keep else ()
        wait(f"reading the prompt, {place:,} of {len(prompt):,} bytes")
    return surprises
