"""mttt bench"""

import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from mttt import bench
from mttt.cli.arguments import UsageError, check_file, refusing, unknown
from mttt.runs import write_json

KINDS = {
    "layers": "one layer, forward and forward + backward: time, FLOPs, memory",
    "model": "a whole training step of a ViT: time, memory",
    "data": "images a second from the data pipeline",
    "compile": "seconds to compile a training step, for two depths and two numbers of inner steps",
}
BATCH = 32  # of bench data
SWEEP = ("linear-attention", "mttt-linear", "mttt-mlp", "mttt-mlp-sgd4", "naive-mttt-mlp", "self-attention")
STANDARD = tuple(name for name in bench.LAYERS if name != "self-attention")


@dataclass(frozen=True)
class Arguments:
    """Measure speed, memory and FLOPs. Contestants take turns, so that ratios mean something on a busy machine."""

    shape: tuple[str, ...] = ()
    """layers: patches (8×196×384, 6 heads), pixels (1×12544×192, 3 heads), lengths (784 to 50176 tokens); the first two
    unless told. model: patches (ViT-Small, 8 images of 224×224), pixels (ViT-Tiny, 112×112 raw pixels), raw (ViT-Tiny,
    224×224 raw pixels, 50176 tokens); raw unless told"""
    layer: tuple[str, ...] = ()
    """which layers take part; by default those that the question is about"""
    repeats: int | None = None
    """rounds"""
    block: int | None = None
    """layers: tokens at a time for MTTT-MLP; by default 8√n"""
    json: Path | None = None
    """write all numbers to this file"""
    path: Path | None = None
    """data: pictures to measure with, in any form that mttt data inspect knows; the package's digits unless told"""
    workers: tuple[int, ...] = ()
    """data: numbers of worker processes to compare; 0 is threads"""
    figure: Path | None = None
    """layers: draw time and memory against n into this PNG file (measures shape lengths)"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    if not words or words[0] in ("-h", "--help"):
        width = max(map(len, KINDS))
        console.print("usage: mttt bench WHAT …\n\n" + "\n".join(f"  {k:{width}}  {v}" for k, v in KINDS.items()))
        console.print("\nmttt bench layers --help tells more.", highlight=False)
        return 0 if words else 2
    if words[0] not in KINDS:
        raise unknown("benchmark", words[0], list(KINDS))
    arguments = tyro.cli(Arguments, args=words[1:], prog=f"mttt bench {words[0]}")
    _check(words[0], arguments)
    run = {"layers": _layers, "model": _model, "data": _data, "compile": _compile}[words[0]]
    numbers = run(arguments, console)
    if arguments.json is not None:
        write_json(arguments.json, numbers)
        console.print(f"Numbers: {arguments.json}", highlight=False, soft_wrap=True)
    return 0


def _check(kind: str, arguments: Arguments) -> None:
    """Refuse before anything is measured."""
    shapes = {"layers": [*bench.SHAPES, "lengths"], "model": list(bench.MODELS)}.get(kind, [])
    for what, given, known in (
        ("shape", arguments.shape, shapes),
        ("layer", arguments.layer, {"layers": list(bench.LAYERS), "model": list(STANDARD)}.get(kind, [])),
    ):
        for name in given:
            if not known:
                raise UsageError(f"mttt bench {kind} has no --{what}")
            if name not in known:
                raise unknown(what, name, known)
    for name, number in (("repeats", arguments.repeats), ("block", arguments.block)):
        if number is not None and number < 1:
            raise UsageError(f"{name}={number}: must be at least 1")
    if kind != "data" and (arguments.path is not None or arguments.workers):
        raise UsageError(f"mttt bench {kind} has no --path and no --workers")
    if any(count < 0 for count in arguments.workers):
        raise UsageError(f"workers={' '.join(map(str, arguments.workers))}: must be 0 or more")
    if kind != "layers" and (arguments.block is not None or arguments.figure is not None):
        raise UsageError(f"mttt bench {kind} has no --block and no --figure")
    for path in (arguments.json, arguments.figure):
        if path is not None:
            check_file(path)
    if arguments.figure is not None and find_spec("matplotlib") is None:
        raise UsageError('--figure needs matplotlib: pip install "mttt[plots]"')


@contextmanager
def _saying(console: Console) -> Iterator[Callable[[str], None]]:
    """Where the measurement is: a moving line in a terminal, nothing in a file."""
    with console.status("starting") as status:
        yield lambda words: status.update(words)


def _layers(arguments: Arguments, console: Console) -> dict[str, Any]:
    names = list(arguments.shape) or ([] if arguments.figure else list(bench.SHAPES))
    if arguments.figure is not None and "lengths" not in names:
        names.append("lengths")
    layers = list(dict.fromkeys(arguments.layer) or (SWEEP if names == ["lengths"] else STANDARD))
    shapes = [shape for name in dict.fromkeys(names) for shape in (bench.LENGTHS if name == "lengths" else [name])]
    with _saying(console) as say:
        report = bench.layers_bench(shapes, layers, repeats=arguments.repeats or 7, block=arguments.block, say=say)
    for shape in shapes:
        console.print(_layer_table(report, shape))
        if (ratios := _ratio_table(report, shape)) is not None:
            console.print(ratios)
    _peak(report, console)
    if arguments.figure is not None:
        lengths = [row for row in report.rows if row.shape in bench.LENGTHS]
        bench.draw_lengths(bench.Measurements(lengths, report.matmul_peak_flops, report.repeats), arguments.figure)
        console.print(f"Picture: {arguments.figure}", highlight=False, soft_wrap=True)
    return report.json()


def _peak(report: bench.Measurements, console: Console) -> None:
    console.print(
        f"Best of {report.repeats} interleaved rounds, and their median. Matmul peak in the same rounds: "
        f"{report.matmul_peak_flops / 1e9:.0f} GFLOP/s.",
        highlight=False,
        soft_wrap=True,
    )


def _number(value: float | int | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"


def _layer_table(report: bench.Measurements, shape: str) -> Table:
    """What was measured: times, useful FLOPs, memory, and the part of the peak."""
    table = Table(title=shape, title_justify="left", box=None, padding=(0, 1, 0, 0), title_style="bold")
    table.add_column("layer", no_wrap=True)
    columns = ("forw.\nms", "median", "step\nms", "median", "forw.\nGFLOP", "step\nGFLOP", "temp\nMiB", "of\npeak")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in (row for row in report.rows if row.shape == shape):
        giga = [None if flops is None else flops / 1e9 for flops in (row.forward_flops, row.step_flops)]
        mebi = None if row.temp_bytes is None else row.temp_bytes / 2**20
        numbers = (row.forward_ms, row.forward_median_ms, row.step_ms, row.step_median_ms, *giga, mebi)
        part = "" if row.fraction_of_peak is None else f"{row.fraction_of_peak:.0%}"
        table.add_row(row.layer, *map(_number, numbers), part)
    return table


RATIOS = {
    "forw.": "forward_ms",
    "step": "step_ms",
    "median": "step_median_ms",
    "FLOP": "step_flops",
    "mem.": "temp_bytes",
}


def _ratio_table(report: bench.Measurements, shape: str) -> Table | None:
    """Each layer against linear attention and against the naive layer; None if neither took part."""
    rows = [row for row in report.rows if row.shape == shape and row.layer != "linear-attention"]
    pairs = [(row.layer, row.against_linear_attention, row.against_naive) for row in rows]
    pairs = [(layer, linear, naive) for layer, linear, naive in pairs if linear or naive]
    if not pairs:
        return None
    title = f"{shape}: × linear attention, and × the naive layer"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), title_style="bold")
    table.add_column("layer", no_wrap=True)
    for _ in range(2):
        for name in RATIOS:
            table.add_column(name, justify="right", no_wrap=True)
    for layer, linear, naive in pairs:
        table.add_row(
            layer, *("" if of is None else _ratio(of.get(n)) for of in (linear, naive) for n in RATIOS.values())
        )
    return table


def _model(arguments: Arguments, console: Console) -> dict[str, Any]:
    shapes = list(dict.fromkeys(arguments.shape) or ("raw",))
    layers = list(dict.fromkeys(arguments.layer) or ("mttt-mlp-sgd4",))
    with _saying(console) as say:
        report = bench.models_bench(shapes, layers, repeats=arguments.repeats or 3, say=say)
    for shape in shapes:
        model = bench.MODELS[shape]
        title = f"{shape}: one training step, {model.batch} × {model.side}×{model.side}, n = {model.tokens}"
        console.print(title, style="bold", highlight=False)
        table = Table(box=None, padding=(0, 1))
        table.add_column("layer", no_wrap=True)
        table.add_column("step s", justify="right")
        table.add_column("temp MiB", justify="right")
        for row in (row for row in report.rows if row.shape == shape):
            seconds = f"{(row.step_ms or math.nan) / 1e3:.2f} ({(row.step_median_ms or math.nan) / 1e3:.2f})"
            table.add_row(row.layer, seconds, f"{(row.temp_bytes or 0) / 2**20:,.0f}")
        need = report.extra["self_attention_temp_bytes"][shape]
        table.add_row("self-attention", "not run", f"{need / 2**20:,.0f}")
        console.print(table)
    resident = report.extra["resident_bytes"]
    console.print(
        f"Most resident memory of this process, compiler included: {resident / 2**20:,.0f} MiB", highlight=False
    )
    _peak(report, console)
    return report.json()


def _data(arguments: Arguments, console: Console) -> dict[str, Any]:
    with refusing():
        view = bench.digits_view() if arguments.path is None else bench.pictures_view(arguments.path)
    if len(view) < BATCH:
        raise UsageError(f"{arguments.path} has {len(view)} images; the benchmark makes batches of {BATCH}")
    counts = tuple(dict.fromkeys(arguments.workers)) or ((0,) if arguments.path is None else (1, 2))
    with _saying(console) as say:
        numbers = bench.data_bench(view, workers=counts, repeats=arguments.repeats or 5, batch_size=BATCH, say=say)
    height, width, _ = numbers["shape"]
    title = f"{numbers['images']} images to {height}×{width}, batches of {BATCH}"
    if arguments.path is not None:
        title += "; Inception crop, flip, RandAugment(2, 10)"
    console.print(title, style="bold", highlight=False)
    table = Table(box=None, padding=(0, 1))
    for name in ("workers", "images/s", "median", "ratio"):
        table.add_column(name, justify="right")
    first = numbers["rows"][0]["images_per_second"]
    for row in numbers["rows"]:
        rate = row["images_per_second"]
        name = str(row["workers"]) if row["workers"] else "0 (threads)"
        table.add_row(name, _number(rate), _number(statistics.median(row["rounds"])), f"{_ratio(rate / first)}×")
    console.print(table)
    return numbers


def _compile(arguments: Arguments, console: Console) -> dict[str, Any]:
    with _saying(console) as say:
        numbers = bench.compile_bench(repeats=arguments.repeats or 3, say=say)
    table = Table(
        title="compile, ViT-Small MTTT-MLP", title_justify="left", box=None, padding=(0, 1), title_style="bold"
    )
    table.add_column("step", no_wrap=True)
    table.add_column("seconds", justify="right")
    table.add_column("median", justify="right")
    table.add_column("ratio", justify="right")
    seconds = numbers["compile_seconds"]
    first = next(iter(seconds.values()))
    for name, value in seconds.items():
        median = numbers["compile_seconds_median"][name]
        table.add_row(name, f"{value:.1f}", f"{median:.1f}", f"{_ratio(value / first)}×")
    console.print(table)
    return numbers
