"""One row, one number of pairs, one seed: train it, and count what it remembers."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax

from mttt.mixers import with_inner_loop
from mttt.outer import ExactGradient, NotFinite, Program, State, evaluate, outer_optimizer, schedule
from mttt.outer.state import NEVER
from mttt.runs import Record, versions
from mttt.runs.origin import machine
from mttt.studies.recall.objective import Recalled
from mttt.studies.recall.rows import Recaller
from mttt.studies.recall.sequences import Questions

BATCH, CLIP = 64, 1.0
FRESH = 100
"""seeds are counted from here: those below were those of the trials by which the recipe was chosen"""
JUDGED = 512
"""sequences that a trained model is judged by, drawn with another seed than any that it is trained on"""
_EVERY = 20
"""steps between two numbers of the curve"""


class RecallJob(NamedTuple):
    """One training of the grid."""

    row: Recaller
    pairs: int
    seed: int

    def __str__(self) -> str:
        return f"{self.row.name}, {self.pairs} pairs, seed {self.seed}"


def settings(job: RecallJob, steps: int) -> Record:
    """What decides the numbers of a job, besides the code."""
    return {"row": job.row.name, "pairs": job.pairs, "seed": job.seed, "steps": steps}


def train_recall(job: RecallJob, steps: int, see: Callable[[Record], None] = lambda record: None) -> Record:
    """Train and judge. A training whose loss becomes infinite has no accuracy, and `diverged` says at which step."""
    begin = time.perf_counter()
    rate = schedule(peak=job.row.peak, warmup=max(1, steps // 10), steps=steps)
    rule = ExactGradient(outer_optimizer(rate, peak=job.row.peak, decay=0.0, clip=CLIP))
    model_key, state_key = jax.random.split(jax.random.key(FRESH + job.seed))
    state = State(job.row.model(job.pairs, key=model_key), rule, key=state_key)
    sizes = {"parameters": sum(leaf.size for leaf in jax.tree.leaves(state.model))}
    sizes |= job.row.sizes(state.model, job.pairs)
    objective, curve = Recalled(), []
    found: Record = {}
    program, draw = Program(state, objective=objective, rule=rule), job.row.draw(job.pairs, 2 * (FRESH + job.seed))
    try:
        for step in range(1, steps + 1):
            state, done = program(state, draw.batch(step, BATCH))
            if step % _EVERY == 0 or step == steps:
                done.block_until_ready()
                state = _look(state, step, curve, see)
        judged = evaluate(state.model, _judged(job), objective=objective)
        found = {"accuracy": judged.accuracy, "loss": judged.loss}
        if job.row.probe:
            found["other_steps"] = _with_other_steps(state.model, job)
    except NotFinite as error:
        found = {"accuracy": None, "loss": None, "diverged": error.step}
    seconds = round(time.perf_counter() - begin, 1)
    origin: dict[str, Any] = {"versions": versions(), "machine": machine()}
    return settings(job, steps) | found | sizes | {"curve": curve, "seconds": seconds} | origin


def _look(state: State, step: int, curve: list[Record], see: Callable[[Record], None]) -> State:
    """Keep how the last steps did."""
    if (broken := int(state.broken)) != NEVER:
        raise NotFinite(broken, None)
    count = float(state.totals.count)
    loss, accuracy = float(state.totals.loss) / count, float(state.totals.correct) / count
    curve.append({"step": step, "loss": round(loss, 4), "accuracy": round(accuracy, 4)})
    see({"kind": "train", "examples_per_second": None, **curve[-1]})
    return state.reset_totals()


def _with_other_steps(model: Any, job: RecallJob) -> dict[str, float]:
    """The accuracy of a trained model with other numbers of inner steps."""
    judge = lambda t: evaluate(with_inner_loop(model, steps=t), _judged(job), objective=Recalled())  # noqa: E731
    return {str(t): float(judge(t).accuracy) for t in job.row.probe}


def _judged(job: RecallJob) -> Iterator[Questions]:
    """Batches with a seed that is odd: those that are trained on have even ones."""
    for number in range(JUDGED // BATCH):
        yield job.row.draw(job.pairs, 2 * (FRESH + job.seed) + 1).batch(number, BATCH)
