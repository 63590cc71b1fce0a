"""mttt bench"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from mttt import bench
from mttt.cli.arguments import UsageError, check_file, check_workers, refusing, unknown
from mttt.cli.bench_devices import Meshes
from mttt.cli.bench_page import Traces
from mttt.cli.bench_sequences import Reads
from mttt.cli.bench_tables import show_compile, show_data, show_gradients, show_layers, show_models, show_paper
from mttt.cli.subcommands import kinds_of, take_subcommand
from mttt.cli.waiting import waiting
from mttt.fields import FieldError
from mttt.files import write_json
from mttt.recipes.check import positive

ABOUT = "Measure speed, memory and FLOPs. What is compared runs in turn."
BATCH = 32  # of bench data
LAYERS = ("self-attention", "linear-attention", "mttt-linear", "mttt-mlp", "mttt-mlp-sgd4")
STANDARD = tuple(name for name in bench.LAYERS if name != "self-attention")
MOST_TOKENS = 2**20  # more would take hours


@dataclass(frozen=True)
class Layers:
    """Self-attention and MTTT at several n: time, memory, and where each costs less.

    Examples:
        mttt bench layers --figure layers.png
        mttt bench layers --layers self-attention mttt-mlp --tokens 196 784
    """

    layers: tuple[str, ...] = LAYERS
    """what to compare, with self-attention if named; there are also mttt-mlp-t4, naive-mttt-{linear,mlp,mlp-t4}"""
    tokens: tuple[int, ...] = bench.LENGTHS
    """numbers of tokens n of one input (width 192, 3 heads: a layer of ViT-Tiny)"""
    repeats: int = 5
    """rounds; the table has their medians"""
    json: Path | None = None
    """write all numbers to this file"""
    figure: Path | None = None
    """draw time and memory against n into this PNG file"""

    def check(self) -> None:
        _known("layer", self.layers, bench.LAYERS)
        _named(layers=self.layers, tokens=self.tokens)
        positive(repeats=self.repeats)
        for n in self.tokens:
            positive(MOST_TOKENS, tokens=n)
        if self.figure is not None:
            check_file(self.figure)
            if find_spec("matplotlib") is None:
                raise UsageError("--figure needs matplotlib: pip install matplotlib")

    def measure(self, console: Console) -> dict[str, Any]:
        shapes = dict(map(bench.at_length, sorted(set(self.tokens))))
        with waiting("starting") as say:
            found = bench.layers_bench(shapes, list(dict.fromkeys(self.layers)), repeats=self.repeats, say=say)
        if "self-attention" in self.layers:
            found.extra["crossover"] = bench.crossovers(found)
        show_layers(found, console)
        if self.figure is not None:
            with waiting("drawing"):
                bench.draw_layers(found, self.figure)
            console.print(f"Figure: {self.figure}", highlight=False, soft_wrap=True)
        return found.json()


@dataclass(frozen=True)
class Paper:
    """MTTT, linear attention and naive MTTT at the paper's shapes: time, FLOPs, memory.

    Examples:
        mttt bench paper --shapes patches --json paper.json
    """

    shapes: tuple[str, ...] = tuple(bench.SHAPES)
    """patches (8×196×384, 6 heads), pixels (1×12544×192, 3 heads)"""
    layers: tuple[str, ...] = STANDARD
    """which layers take part"""
    repeats: int = 7
    """rounds"""
    block: int | None = None
    """tokens at a time for MTTT-MLP; by default 8√n"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        _known("shape", self.shapes, bench.SHAPES)
        _known("layer", self.layers, bench.LAYERS)
        _named(shapes=self.shapes, layers=self.layers)
        positive(repeats=self.repeats, block=1 if self.block is None else self.block)

    def measure(self, console: Console) -> dict[str, Any]:
        shapes = {name: bench.SHAPES[name] for name in self.shapes}
        layers = list(dict.fromkeys(self.layers))
        with waiting("starting") as say:
            found = bench.layers_bench(shapes, layers, repeats=self.repeats, block=self.block, say=say)
        show_paper(found, list(shapes), console)
        return found.json()


@dataclass(frozen=True)
class Model:
    """A whole training step of a ViT: time, memory.

    Examples:
        mttt bench model --shapes patches --layers mttt-mlp linear-attention
    """

    shapes: tuple[str, ...] = ("raw",)
    """patches (ViT-Small, 8 images of 224×224), pixels (ViT-Tiny, 112×112 raw pixels), raw (the same, 224×224)"""
    layers: tuple[str, ...] = ("mttt-mlp-sgd4",)
    """which layers take part"""
    repeats: int = 3
    """rounds"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        _known("shape", self.shapes, bench.MODELS)
        _known("layer", self.layers, STANDARD)
        _named(shapes=self.shapes, layers=self.layers)
        positive(repeats=self.repeats)

    def measure(self, console: Console) -> dict[str, Any]:
        shapes, layers = list(dict.fromkeys(self.shapes)), list(dict.fromkeys(self.layers))
        with waiting("starting") as say:
            found = bench.models_bench(shapes, layers, repeats=self.repeats, say=say)
        show_models(found, shapes, console)
        return found.json()


@dataclass(frozen=True)
class Data:
    """Images a second from the data pipeline.

    Examples:
        mttt bench data
        mttt bench data --path pictures/ --workers 0 1 2
    """

    path: Path | None = None
    """pictures to measure with, in any form that mttt data inspect knows; the package's digits unless told"""
    workers: tuple[int, ...] = ()
    """numbers of worker processes to compare; 0 is threads"""
    processes: int = 1
    """as in a training by several: each makes its part of every batch, and they are compared with one process"""
    repeats: int = 5
    """rounds"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        positive(repeats=self.repeats)
        positive(BATCH, processes=self.processes)
        if BATCH % self.processes:
            raise FieldError("processes", self.processes, f"it does not divide a batch of {BATCH}; take 1, 2, 4, 8, …")
        for count in self.workers:
            check_workers(count)

    def measure(self, console: Console) -> dict[str, Any]:
        with refusing(), waiting("reading"):
            view = bench.digits_view() if self.path is None else bench.pictures_view(self.path)
        if len(view) < BATCH:
            raise UsageError(f"{self.path} has {len(view)} images; the benchmark makes batches of {BATCH}")
        counts = tuple(dict.fromkeys(self.workers)) or ((0,) if self.path is None else (1, 2))
        with waiting("starting") as say:
            numbers = bench.data_bench(
                view, workers=counts, processes=self.processes, repeats=self.repeats, batch_size=BATCH, say=say
            )
        show_data(numbers, BATCH, console, augmented=self.path is not None)
        return numbers


@dataclass(frozen=True)
class Compile:
    """Seconds to compile, without any cache: one small layer, a step of a ViT.

    Examples:
        mttt bench compile --parts layer
    """

    parts: tuple[str, ...] = ("layer", "model")
    """layer (the gradient of one layer, 256 tokens of width 64), model (a step of ViT-Small at two depths and T)"""
    repeats: int = 3
    """rounds"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        _known("part", self.parts, ("layer", "model"))
        _named(parts=self.parts)
        positive(repeats=self.repeats)

    def measure(self, console: Console) -> dict[str, Any]:
        numbers: dict[str, Any] = {}
        with waiting("starting") as say:
            if "layer" in self.parts:
                numbers["layer"] = bench.gradients_bench(repeats=self.repeats, say=say)
            if "model" in self.parts:
                numbers["model"] = bench.compile_bench(repeats=self.repeats, say=say)
        if "layer" in numbers:
            show_gradients(numbers["layer"], console)
        if "model" in numbers:
            show_compile(numbers["model"], console)
        return numbers


KINDS = kinds_of(
    {
        "layers": Layers,
        "paper": Paper,
        "model": Model,
        "data": Data,
        "compile": Compile,
        "devices": Meshes,
        "sequences": Reads,
        "page": Traces,
    }
)


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    _, arguments = take_subcommand("bench", ABOUT, KINDS, words)
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


def _named(**given: tuple[Any, ...]) -> None:
    for name, names in given.items():
        if not names:
            raise FieldError(name, None, "name at least one")
