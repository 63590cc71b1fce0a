"""What `mttt bench` prints."""

import math
import statistics
from typing import Any

from rich.console import Console
from rich.table import Table

from mttt import bench


def _peak(found: bench.Measurements, console: Console) -> None:
    console.print(
        f"Best of {found.repeats} interleaved rounds, and their median. Matmul peak in the same rounds: "
        f"{found.matmul_peak_flops / 1e9:.0f} GFLOP/s.",
        highlight=False,
        soft_wrap=True,
    )


def _number(value: float | int | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"


def _layer_table(found: bench.Measurements, shape: str) -> Table:
    """What was measured: times, useful FLOPs, memory, and the part of the peak."""
    table = Table(title=shape, title_justify="left", box=None, padding=(0, 1, 0, 0), title_style="bold")
    table.add_column("layer", no_wrap=True)
    columns = ("forw.\nms", "median", "step\nms", "median", "forw.\nGFLOP", "step\nGFLOP", "temp\nMiB", "of\npeak")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in (row for row in found.rows if row.shape == shape):
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


def _ratio_table(found: bench.Measurements, shape: str) -> Table | None:
    """Each layer against linear attention and against the naive layer; None if neither took part."""
    rows = [row for row in found.rows if row.shape == shape and row.layer != "linear-attention"]
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


def show_paper(found: bench.Measurements, shapes: list[str], console: Console) -> None:
    """Numbers and ratios of every shape."""
    for shape in shapes:
        console.print(_layer_table(found, shape))
        if (ratios := _ratio_table(found, shape)) is not None:
            console.print(ratios)
    _peak(found, console)


COSTS = {
    "forward\nms": ("forward_median_ms", "forward_temp_bytes", 1.0),
    "step\nms": ("step_median_ms", "temp_bytes", 1.0),
    "memory\nMiB": ("temp_bytes", "temp_bytes", 2.0**20),
}


def show_layers(found: bench.Measurements, console: Console) -> None:
    """All lengths in one table, each cost beside its ratio to self-attention; then where the ratios fall below 1."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("layer", no_wrap=True)
    for name in COSTS:
        table.add_column(name, justify="right", no_wrap=True)
        table.add_column("×", justify="right", no_wrap=True)
    last = None
    for row in found.rows:
        if last not in (None, row.shape):
            table.add_row()
        cells = []
        for field, needs, unit in COSTS.values():
            value, ratio = getattr(row, field), (row.against_self_attention or {}).get(field)
            cells += [f"needs {getattr(row, needs) / 2**30:.1f} GiB" if value is None else _number(value / unit)]
            cells += ["" if ratio is None else _ratio(ratio)]
        table.add_row(f"{row.tokens:,}" if row.shape != last else "", row.layer, *cells)
        last = row.shape
    console.print(table)
    _note(
        "step: forward and backward. memory: temporary buffers of the step. ×: the number over that of self-attention "
        f"at the same n. Medians of {found.repeats} interleaved rounds; one input, width 192, 3 heads, float32.",
        console,
    )
    if "crossover" in found.extra:
        _show_crossovers(found.extra["crossover"], {row.tokens for row in found.rows}, console)


def _show_crossovers(found: dict[str, dict[str, float | None]], lengths: set[int], console: Console) -> None:
    console.print("\nNumber of tokens from which a layer costs less than self-attention", style="bold", highlight=False)
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("layer", no_wrap=True)
    for name in ("forward", "step", "memory"):
        table.add_column(name, justify="right", no_wrap=True)
    for layer, costs in found.items():
        table.add_row(layer, *(_from(n, lengths) for n in costs.values()))
    console.print(table)


def _from(n: float | None, lengths: set[int]) -> str:
    """Between measured lengths to two digits; beyond them only a bound is known."""
    if n is None:
        return f"> {max(lengths):,}"
    return f"≤ {min(lengths):,}" if n <= min(lengths) else f"{float(f'{n:.2g}'):,.0f}"


def _note(words: str, console: Console) -> None:
    console.print(words, highlight=False, soft_wrap=not console.is_terminal)


def show_models(found: bench.Measurements, shapes: list[str], console: Console) -> None:
    """A training step of every shape, and what self-attention would need."""
    for shape in shapes:
        model = bench.MODELS[shape]
        title = f"{shape}: one training step, {model.batch} × {model.side}×{model.side}, n = {model.tokens}"
        console.print(title, style="bold", highlight=False)
        table = Table(box=None, padding=(0, 1))
        table.add_column("layer", no_wrap=True)
        table.add_column("step s", justify="right")
        table.add_column("temp MiB", justify="right")
        for row in (row for row in found.rows if row.shape == shape):
            seconds = f"{(row.step_ms or math.nan) / 1e3:.2f} ({(row.step_median_ms or math.nan) / 1e3:.2f})"
            table.add_row(row.layer, seconds, f"{(row.temp_bytes or 0) / 2**20:,.0f}")
        need = found.extra["self_attention_temp_bytes"][shape]
        table.add_row("self-attention", "not run", f"{need / 2**20:,.0f}")
        console.print(table)
    resident = found.extra["resident_bytes"]
    console.print(
        f"Most resident memory of this process, compiler included: {resident / 2**20:,.0f} MiB", highlight=False
    )
    _peak(found, console)


def show_data(numbers: dict[str, Any], batch: int, console: Console, *, augmented: bool) -> None:
    """Images a second by the number of workers."""
    height, width, _ = numbers["shape"]
    title = f"{numbers['images']} images to {height}×{width}, batches of {batch}"
    if augmented:
        title += "; Inception crop, flip, RandAugment(2, 10)"
    console.print(title, style="bold", highlight=False)
    table = Table(box=None, padding=(0, 1))
    for name in ("processes", "workers of each", "images/s", "median", "ratio"):
        table.add_column(name, justify="right")
    first = numbers["rows"][0]["images_per_second"]
    for row in numbers["rows"]:
        rate = row["images_per_second"]
        name = str(row["workers"]) if row["workers"] else "0 (threads)"
        count = str(row["processes"])
        table.add_row(count, name, _number(rate), _number(statistics.median(row["rounds"])), f"{_ratio(rate / first)}×")
    console.print(table)


def show_compile(numbers: dict[str, Any], console: Console) -> None:
    """Seconds of every program."""
    title = "compile, ViT-Small MTTT-MLP"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1), title_style="bold")
    table.add_column("step", no_wrap=True)
    for name in ("seconds", "median", "ratio"):
        table.add_column(name, justify="right")
    seconds = numbers["compile_seconds"]
    first = next(iter(seconds.values()))
    for name, value in seconds.items():
        median = numbers["compile_seconds_median"][name]
        table.add_row(name, f"{value:.1f}", f"{median:.1f}", f"{_ratio(value / first)}×")
    console.print(table)


def show_gradients(numbers: dict[str, Any], console: Console) -> None:
    """Processor seconds of every stage of every layer, and how many times attention's they are."""
    shape = numbers["shape"]
    title = f"one layer, {shape['tokens']} × {shape['dim']}, {shape['heads']} heads: processor seconds"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1), title_style="bold")
    table.add_column("layer", no_wrap=True)
    for name in ("build", "trace", "lower", "compile", "gradient", "×", "wall"):
        table.add_column(name, justify="right")
    base = next(row for row in numbers["rows"] if row["layer"] == "self-attention")["processor_seconds"]["gradient"]
    for row in numbers["rows"]:
        seconds = row["processor_seconds"]
        stages = [f"{seconds[name]:.2f}" for name in ("build", "trace", "lower", "compile", "gradient")]
        ratio, wall = _ratio(seconds["gradient"] / base), row["wall_seconds"]["gradient"]
        table.add_row(row["layer"], *stages, ratio, f"{wall:.2f}")
    console.print(table)
    _note(
        "build: make the layer for the first time. gradient: trace, lower and compile jax.jit(jax.grad(…)). "
        "×: gradient over that of self-attention. wall: the gradient in seconds of the clock.",
        console,
    )
