"""The outer loop: a plain `for` around one step."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from mttt.data import BadData, BadExample, Batch, Batches, DataSet, EvaluationBatches, Skipped, WorkerLost
from mttt.outer.evaluate import Evaluation, evaluate
from mttt.outer.interrupt import Interrupt, Interrupted
from mttt.outer.state import NEVER, State
from mttt.outer.step import train_step
from mttt.runs import Record, Run


class NotFinite(Exception):
    """The loss or its gradient became infinite or NaN."""

    def __init__(self, step: int, kept: int | None):
        where = "there is no checkpoint yet" if kept is None else f"the checkpoint of step {kept} is kept"
        super().__init__(
            f"the loss or its gradient was not finite at step {step}; {where}. Try a lower rate (--optimizer.rate), a "
            "longer warm-up (--optimizer.warmup) or a lower inner rate."
        )
        self.step = step


class Plan(NamedTuple):
    """How long to train, and how often to do what, in steps."""

    steps: int
    batch_size: int
    evaluation_batch_size: int
    accumulate: int
    mixup: float
    dtype: Any
    log_every: int
    evaluate_every: int
    checkpoint_every: int


@runtime_checkable
class Observer(Protocol):
    """Sees the training as it happens."""

    def at(self, step: int) -> None: ...

    def record(self, record: Record) -> None: ...


class Training(NamedTuple):
    """Everything about a training that does not change while it runs."""

    optimizer: optax.GradientTransformation
    rate: optax.Schedule
    data: DataSet
    plan: Plan
    run: Run
    observer: Observer

    def epoch(self, step: int) -> float:
        return round(step * self.plan.batch_size / len(self.data.train), 4)

    def write(self, record: Record) -> None:
        self.run.metrics.append(record)
        self.observer.record(record)


def train(training: Training, state: State, batches: Batches) -> Evaluation:
    """Train to the end of the plan, from the newest checkpoint of the run if there is one.

    Every line of metrics is written before the checkpoint of its step, and what was written after the checkpoint is
    forgotten on resuming: whenever the process is killed, the resumed run writes the same lines.
    """
    plan, run = training.plan, training.run
    with run.checkpoints(write=True) as checkpoints, Interrupt() as interrupt:
        saved = checkpoints.latest()
        if saved is not None:
            state, position = checkpoints.restore(saved, state)
            batches.set_state(position)
        run.metrics.rewind(saved or 0)

        advance = _compile(training, state)
        skipped = _Skipped(training)
        evaluation, clock, running = None, _Clock(plan.batch_size), deque()
        step = int(state.step)
        training.observer.at(step)
        try:
            while step < plan.steps:
                with clock:
                    state, done = advance(state, next(batches))
                    step += 1
                    running.append(done)
                    if len(running) > 2:  # stay at most two steps ahead of the device
                        running.popleft().block_until_ready()
                    last = step == plan.steps
                    log = last or step % plan.log_every == 0
                    evaluate_now = last or step % plan.evaluate_every == 0
                    stop = interrupt.requested  # asked once: a signal that comes later waits for the next step
                    save = last or step % plan.checkpoint_every == 0 or stop is not None
                    if log or evaluate_now or save:
                        done.block_until_ready()
                skipped.add(step, "train", batches.skipped)
                training.observer.at(step)
                if (log or evaluate_now or save) and (broken := int(state.broken)) != NEVER:
                    raise NotFinite(broken, checkpoints.latest())
                if log and float(state.totals.images):  # all of them may have been skipped
                    training.write(_training_record(training, state, step, clock.take()))
                    state = state.reset_totals()
                if evaluate_now:
                    evaluation = _evaluate(training, state, step, checkpoints.latest(), skipped)
                if save:
                    run.metrics.flush()
                    checkpoints.save(step, state, batches.get_state())
                if stop is not None and not last:
                    raise Interrupted(step, stop)
        except (BadExample, WorkerLost):  # nothing that was learned so far is lost by it
            if step > (checkpoints.latest() or 0) and int(state.broken) == NEVER:
                run.metrics.flush()
                checkpoints.save(step, state, batches.get_state())
            raise
        # Nothing was left to do if the run was killed after its last checkpoint and before its result.
        return evaluate_state(state, training.data, plan) if evaluation is None else evaluation


def _compile(training: Training, state: State) -> Callable[[State, Batch], tuple[State, Array]]:
    """The jitted step. It reuses the memory of the state it is given; the second output tells when it is done."""
    plan = training.plan
    step = partial(
        train_step, optimizer=training.optimizer, dtype=plan.dtype, accumulate=plan.accumulate, mixup=plan.mixup
    )
    rest = eqx.filter(state, eqx.is_array, inverse=True)

    @partial(jax.jit, donate_argnums=0)
    def step_arrays(arrays, batch):
        new = step(eqx.combine(arrays, rest), batch)
        return eqx.filter(new, eqx.is_array), new.step

    def advance(state: State, batch: Batch) -> tuple[State, Array]:
        arrays, done = step_arrays(eqx.filter(state, eqx.is_array), batch)
        return eqx.combine(arrays, rest), done

    return advance


def _training_record(training: Training, state: State, step: int, images_per_second: float | None) -> Record:
    loss, correct, images = map(float, state.totals)
    return {
        "kind": "train",
        "step": step,
        "epoch": training.epoch(step),
        "loss": loss / images,
        "accuracy": correct / images,
        "rate": float(jnp.asarray(training.rate(step - 1))),
        "images_per_second": images_per_second,
    }


def _evaluate(training: Training, state: State, step: int, kept: int | None, skipped: "_Skipped") -> Evaluation:
    begin = time.perf_counter()
    evaluation = evaluate_state(state, training.data, training.plan)
    if not math.isfinite(evaluation.loss):
        raise NotFinite(step, kept)
    skipped.add(step, "evaluation", evaluation.problems)
    training.write(
        {
            "kind": "evaluation",
            "step": step,
            "epoch": training.epoch(step),
            "loss": evaluation.loss,
            "accuracy": evaluation.accuracy,
            "inner_losses": evaluation.per_layer(),
            "images_per_second": round(evaluation.images / (time.perf_counter() - begin), 1),
        }
    )
    return evaluation


def evaluate_state(state: State, data: DataSet, plan: Plan) -> Evaluation:
    """The model of a state on the evaluation images."""
    return evaluate(state.model, EvaluationBatches(data.evaluation, plan.evaluation_batch_size), dtype=plan.dtype)


class _Skipped:
    """Images that cannot be used, each written to the metrics when it is met for the first time."""

    def __init__(self, training: Training):
        self._training = training
        self._known = {(record["part"], record["name"]) for record in training.run.metrics.read("skipped")}

    def add(self, step: int, part: str, problems: Iterable[Skipped]) -> None:
        for name, reason in problems:
            if (part, name) not in self._known:
                self._known.add((part, name))
                record = {"kind": "skipped", "step": step, "part": part, "name": name, "reason": reason}
                self._training.write(record)
        if sum(known == "train" for known, _ in self._known) == len(self._training.data.train):
            raise BadData("no training image can be used: all were skipped")


class _Clock:
    """Time spent in training steps, without evaluation, checkpoints, or the first step, which compiles."""

    def __init__(self, batch_size: int):
        self.batch_size = batch_size
        self.seconds, self.steps, self.warm = 0.0, 0, False

    def __enter__(self) -> None:
        self.begin = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if self.warm:
            self.seconds += time.perf_counter() - self.begin
            self.steps += 1
        self.warm = True

    def take(self) -> float | None:
        """Images a second since the last call."""
        speed = round(self.steps * self.batch_size / self.seconds, 1) if self.steps else None
        self.seconds, self.steps = 0.0, 0
        return speed
