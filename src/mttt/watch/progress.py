"""How far a training is, from the files of its run: it is not disturbed."""

from typing import Any

from mttt.runs import Run, summary

RECORDS = 4000
"""of metrics that are sent; of more, every second, third …"""


def progress(run: Run, steps: int) -> dict[str, Any]:
    """Metrics so far and the result, if there is one."""
    found = summary(run)
    evaluations, training = (run.metrics.read(kind) for kind in ("evaluation", "train"))
    every = -(-max(len(training), 1) // RECORDS)
    records = sorted([*training[::every], *evaluations], key=lambda record: record["step"])
    return {
        "running": found.in_use,
        "step": found.step,
        "steps": steps,
        "evaluation_name": run.data["evaluation_name"],
        "metrics": records,
        "result": run.result,
    }
