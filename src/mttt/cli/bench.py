"""mttt bench"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from mttt import bench
from mttt.cli.arguments import UsageError, check_file, check_workers, refusing, unknown
from mttt.cli.bench_tables import show_compile, show_data, show_layers, show_models
from mttt.cli.subcommands import take_subcommand
from mttt.fields import FieldError
from mttt.files import write_json
from mttt.recipes.check import positive

ABOUT = "Measure speed, memory and FLOPs. Contestants take turns, so that ratios mean something on a busy machine."
BATCH = 32  # of bench data
SWEEP = ("linear-attention", "mttt-linear", "mttt-mlp", "mttt-mlp-sgd4", "naive-mttt-mlp", "self-attention")
STANDARD = tuple(name for name in bench.LAYERS if name != "self-attention")


@dataclass(frozen=True)
class Layers:
    """One layer, forward and forward + backward: time, FLOPs, memory."""

    shape: tuple[str, ...] = ()
    """patches (8×196×384, 6 heads), pixels (1×12544×192, 3 heads), lengths (784 to 50176 tokens); the first two unless
    told"""
    layer: tuple[str, ...] = ()
    """which layers take part; by default those that the question is about"""
    repeats: int = 7
    """rounds"""
    block: int | None = None
    """tokens at a time for MTTT-MLP; by default 8√n"""
    json: Path | None = None
    """write all numbers to this file"""
    figure: Path | None = None
    """draw time and memory against n into this PNG file (measures shape lengths)"""

    def check(self) -> None:
        _known("shape", self.shape, [*bench.SHAPES, "lengths"])
        _known("layer", self.layer, bench.LAYERS)
        positive(repeats=self.repeats, block=1 if self.block is None else self.block)
        if self.figure is not None:
            check_file(self.figure)
            if find_spec("matplotlib") is None:
                raise UsageError("--figure needs matplotlib: pip install matplotlib")

    def measure(self, console: Console) -> dict[str, Any]:
        names = list(self.shape) or ([] if self.figure else list(bench.SHAPES))
        if self.figure is not None and "lengths" not in names:
            names.append("lengths")
        layers = list(dict.fromkeys(self.layer) or (SWEEP if names == ["lengths"] else STANDARD))
        shapes = [shape for name in dict.fromkeys(names) for shape in (bench.LENGTHS if name == "lengths" else [name])]
        with _saying(console) as say:
            found = bench.layers_bench(shapes, layers, repeats=self.repeats, block=self.block, say=say)
        show_layers(found, shapes, console)
        if self.figure is not None:
            lengths = [row for row in found.rows if row.shape in bench.LENGTHS]
            bench.draw_lengths(bench.Measurements(lengths, found.matmul_peak_flops, found.repeats), self.figure)
            console.print(f"Picture: {self.figure}", highlight=False, soft_wrap=True)
        return found.json()


@dataclass(frozen=True)
class Model:
    """A whole training step of a ViT: time, memory."""

    shape: tuple[str, ...] = ("raw",)
    """patches (ViT-Small, 8 images of 224×224), pixels (ViT-Tiny, 112×112 raw pixels), raw (ViT-Tiny, 224×224 raw
    pixels, 50176 tokens)"""
    layer: tuple[str, ...] = ("mttt-mlp-sgd4",)
    """which layers take part"""
    repeats: int = 3
    """rounds"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        _known("shape", self.shape, bench.MODELS)
        _known("layer", self.layer, STANDARD)
        for name in ("shape", "layer"):
            if not getattr(self, name):
                raise FieldError(name, None, "name at least one")
        positive(repeats=self.repeats)

    def measure(self, console: Console) -> dict[str, Any]:
        shapes, layers = list(dict.fromkeys(self.shape)), list(dict.fromkeys(self.layer))
        with _saying(console) as say:
            found = bench.models_bench(shapes, layers, repeats=self.repeats, say=say)
        show_models(found, shapes, console)
        return found.json()


@dataclass(frozen=True)
class Data:
    """Images a second from the data pipeline."""

    path: Path | None = None
    """pictures to measure with, in any form that mttt data inspect knows; the package's digits unless told"""
    workers: tuple[int, ...] = ()
    """numbers of worker processes to compare; 0 is threads"""
    repeats: int = 5
    """rounds"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        positive(repeats=self.repeats)
        for count in self.workers:
            check_workers(count)

    def measure(self, console: Console) -> dict[str, Any]:
        with refusing():
            view = bench.digits_view() if self.path is None else bench.pictures_view(self.path)
        if len(view) < BATCH:
            raise UsageError(f"{self.path} has {len(view)} images; the benchmark makes batches of {BATCH}")
        counts = tuple(dict.fromkeys(self.workers)) or ((0,) if self.path is None else (1, 2))
        with _saying(console) as say:
            numbers = bench.data_bench(view, workers=counts, repeats=self.repeats, batch_size=BATCH, say=say)
        show_data(numbers, BATCH, console, augmented=self.path is not None)
        return numbers


@dataclass(frozen=True)
class Compile:
    """Seconds to compile a training step, for two depths and two numbers of inner steps."""

    repeats: int = 3
    """rounds"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        positive(repeats=self.repeats)

    def measure(self, console: Console) -> dict[str, Any]:
        with _saying(console) as say:
            numbers = bench.compile_bench(repeats=self.repeats, say=say)
        show_compile(numbers, console)
        return numbers


KINDS = {"layers": Layers, "model": Model, "data": Data, "compile": Compile}


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    kinds = {name: (kind, kind.__doc__ or "") for name, kind in KINDS.items()}
    _, arguments = take_subcommand("bench", ABOUT, kinds, words)
    with refusing():
        arguments.check()
    if arguments.json is not None:
        check_file(arguments.json)
    numbers = arguments.measure(console)
    if arguments.json is not None:
        write_json(arguments.json, numbers)
        console.print(f"Numbers: {arguments.json}", highlight=False, soft_wrap=True)
    return 0


def _known(what: str, given: tuple[str, ...], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise unknown(what, name, list(known))


@contextmanager
def _saying(console: Console) -> Iterator[Callable[[str], None]]:
    """Where the measurement is: a moving line in a terminal, nothing in a file."""
    with console.status("starting") as status:
        yield lambda words: status.update(words)
