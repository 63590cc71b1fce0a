"""What a training step needs on many devices, from compiled programs alone: nothing is run.

The devices are emulated, so this is what the compiler decides: memory, and what is sent. Times are bounds that follow
from published figures of accelerators, never measurements.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from mttt.bench.layers import LAYERS
from mttt.bench.measure import machine
from mttt.bench.models import MODELS, Step
from mttt.count import flops
from mttt.count.collectives import KINDS, Collective, collectives
from mttt.devices import placement_of

MOST = 256


class Accelerator(NamedTuple):
    """Published figures of one chip."""

    name: str
    peak: float
    """FLOP/s of dense bfloat16 products"""
    link: float
    """bytes/s to other chips, in one direction"""
    memory: int
    """bytes"""
    source: str


ACCELERATORS = (
    Accelerator("TPU v5e", 197e12, 200e9, 16 * 2**30, "Google Cloud, TPU v5e: 197 TFLOP/s, 1,600 Gbit/s, 16 GB"),
    Accelerator("A100", 312e12, 300e9, 80 * 2**30, "NVIDIA, A100 80 GB SXM: 312 TFLOP/s, NVLink 600 GB/s, 80 GB"),
)


class Case(NamedTuple):
    """A model in a training step of the paper's batch."""

    model: str
    """one of `MODELS`"""
    layer: str
    batch: int
    rows: int
    """of the batch that go through each group of devices at a time; the rest is accumulated"""
    meshes: tuple[tuple[int, int], ...]
    """data × sequence"""


CASES = {
    "patches": Case("patches", "mttt-mlp", 1024, 32, ((1, 1), (8, 1), (32, 1), (32, 4), (256, 1))),
    "pixels": Case("raw", "mttt-mlp-sgd4", 1024, 4, ((1, 1), (8, 1), (8, 8), (64, 1), (64, 4), (256, 1))),
}


def step_on(case: Case, data: int, sequence: int) -> Step:
    """The training step of a case on a mesh."""
    parts = max(1, case.batch // (case.rows * data))
    workload = MODELS[case.model]._replace(batch=case.batch)
    return Step(workload, LAYERS[case.layer], accumulate=parts, placement=placement_of(data=data, sequence=sequence))


def devices_bench(
    cases: Iterable[str] = tuple(CASES), *, say: Callable[[str], None] = lambda words: None
) -> dict[str, Any]:
    """Compile the step of each case on each mesh. The process has to have enough emulated devices."""
    rows = []
    for name in cases:
        case = CASES[name]
        say(f"{name}: counting FLOPs")
        total = _flops(case)
        for data, sequence in case.meshes:
            say(f"{name}: compiling for {data} × {sequence} devices")
            compiled = step_on(case, data, sequence).lower().compile()
            rows.append(_row(name, case, data, sequence, total, compiled))
    return {"rows": rows, "accelerators": [one._asdict() for one in ACCELERATORS], **machine()}


def _flops(case: Case) -> int:
    """Of a step on the whole batch: rows do not depend on each other, so that of one row times their number."""
    workload = MODELS[case.model]._replace(batch=1)
    step = Step(workload, LAYERS[case.layer])
    return case.batch * step.count(flops).useful


def _row(name: str, case: Case, data: int, sequence: int, total: int, compiled: Any) -> dict[str, Any]:
    devices = data * sequence
    memory = compiled.memory_analysis()
    sent = collectives(compiled.as_text())
    arguments, temporary = memory.argument_size_in_bytes, memory.temp_size_in_bytes
    # Parameters and optimizer state are reused for the next state.
    used = arguments + temporary + memory.output_size_in_bytes - memory.alias_size_in_bytes
    row = {
        "case": name,
        "layer": case.layer,
        "batch": case.batch,
        "data": data,
        "sequence": sequence,
        "memory_bytes": used,
        "state_bytes": arguments,
        "flops": total / devices,
        "collective_bytes": {kind: _bytes(sent, kind) for kind in KINDS},
        "sent_bytes": sum(_moved(one, devices) * one.times for one in sent),
    }
    return row | {"bounds": {one.name: bounds(row, one) for one in ACCELERATORS}}


def _bytes(sent: list[Collective], kind: str) -> int:
    return sum(one.bytes * one.times for one in sent if one.kind == kind)


def _moved(one: Collective, devices: int) -> float:
    """Bytes that a device sends: an all-reduce around a ring passes everything on twice."""
    return (2 if one.kind == "all-reduce" else 1) * one.bytes * (devices - 1) / devices


def bounds(row: dict[str, Any], chip: Accelerator) -> dict[str, Any]:
    """A step takes at least so long on such chips, whatever else they do; and does it fit?"""
    compute, send = row["flops"] / chip.peak, row["sent_bytes"] / chip.link
    images = row["batch"] / max(compute, send)
    return {
        "compute_seconds": compute,
        "send_seconds": send,
        "step_seconds": max(compute, send),
        "images_per_second": images,
        "fits": row["memory_bytes"] <= chip.memory,
    }
