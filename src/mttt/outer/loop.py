"""The outer loop: a plain `for` around one step."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import optax

from mttt.outer.evaluate import Evaluation
from mttt.outer.interrupt import Interrupted
from mttt.outer.state import NEVER, State

Record = dict[str, Any]


class NotFinite(Exception):
    """The loss, the direction that was made of it, or the model became infinite or NaN."""

    def __init__(self, step: int, kept: int | None):
        where = "there is no checkpoint yet" if kept is None else f"the checkpoint of step {kept} is kept"
        super().__init__(
            f"the loss or its gradient was not finite at step {step}; {where}. Try a lower rate of the outer "
            "optimizer, a longer warm-up or a lower inner rate."
        )
        self.step = step


class Plan(NamedTuple):
    """How long to train, and how often to do what, in steps."""

    steps: int
    batch_size: int
    examples: int
    """of an epoch"""
    log_every: int
    evaluate_every: int
    checkpoint_every: int

    def epoch(self, step: int) -> float:
        """How often all examples were seen after so many steps."""
        return round(step * self.batch_size / self.examples, 4)


@runtime_checkable
class Keeper(Protocol):
    """Where a training leaves what it finds. The loop writes every record before it saves the state of its step."""

    def at(self, step: int) -> None:
        """So many steps are done."""
        ...

    def write(self, record: Record) -> None:
        """Keep a line of metrics."""
        ...

    def save(self, step: int, state: State) -> None:
        """Keep a state, to go on from."""
        ...

    def saved(self) -> int | None:
        """The step of the newest state that is kept."""
        ...

    def stop(self) -> int | None:
        """The number of the signal that asks the training to stop, if one came."""
        ...


@runtime_checkable
class Stream(Protocol):
    """Batches without end."""

    def __next__(self) -> Any: ...


class Training(NamedTuple):
    """Everything about a training that does not change while it runs."""

    plan: Plan
    advance: Callable[[State, Any], tuple[State, Any]]
    """one step on a batch; the second output tells when it is done"""
    rate: optax.Schedule
    """for the metrics"""
    evaluate: Callable[[Any], Evaluation]
    """a model, on what it is judged by"""
    keeper: Keeper


def train(training: Training, state: State, batches: Stream) -> Evaluation:
    """From a state to the end of the plan; the last evaluation."""
    plan, _, _, _, keeper = training
    evaluation, clock, running = None, _Clock(plan.batch_size), deque()
    warm = False  # has this process evaluated before?
    first = int(state.step)
    keeper.at(first)
    for step in range(first + 1, plan.steps + 1):
        with clock:
            with _keeping(keeper, step - 1, state):
                batch = next(batches)
            state, done = training.advance(state, batch)
            running.append(done)
            if len(running) > 2:  # stay at most two steps ahead of the device
                running.popleft().block_until_ready()
            last = step == plan.steps
            log = last or step % plan.log_every == 0
            evaluate_now = last or step % plan.evaluate_every == 0
            stop = keeper.stop()  # asked once: a signal that comes later waits for the next step
            save = last or step % plan.checkpoint_every == 0 or stop is not None
            if log or evaluate_now or save:
                done.block_until_ready()
        keeper.at(step)
        if (log or evaluate_now or save) and (broken := int(state.broken)) != NEVER:
            raise NotFinite(broken, keeper.saved())
        if log and float(state.totals.count):  # all of them may have been skipped
            keeper.write(_training_record(training, state, step, clock.take()))
            state = state.reset_totals()
        if evaluate_now:
            evaluation, warm = _evaluate(training, state, step, warm=warm), True
        if save:
            keeper.save(step, state)
        if stop is not None and not last:
            raise Interrupted(step, stop)
    # Nothing was left to do if the run was killed after its last checkpoint and before its result.
    return training.evaluate(state.model) if evaluation is None else evaluation


@contextmanager
def _keeping(keeper: Keeper, step: int, state: State) -> Iterator[None]:
    """Nothing that was learned so far is lost when there is something wrong with the data."""
    try:
        yield
    except Exception:
        if step > (keeper.saved() or 0) and int(state.broken) == NEVER:
            keeper.save(step, state)
        raise


def _training_record(training: Training, state: State, step: int, speed: float | None) -> Record:
    count = float(state.totals.count)
    return {
        "kind": "train",
        "step": step,
        "epoch": training.plan.epoch(step),
        "loss": float(state.totals.loss) / count,
        "accuracy": float(state.totals.correct) / count,
        "rate": float(jnp.asarray(training.rate(step - 1))),
        "examples_per_second": speed,
    }


def _evaluate(training: Training, state: State, step: int, *, warm: bool) -> Evaluation:
    """The first evaluation of a process compiles, so its speed says nothing: it has none."""
    begin = time.perf_counter()
    with _keeping(training.keeper, step, state):
        evaluation = training.evaluate(state.model)
    if not math.isfinite(evaluation.loss):
        raise NotFinite(step, training.keeper.saved())
    speed = round(evaluation.examples / (time.perf_counter() - begin), 1) if warm else None
    place = {"kind": "evaluation", "step": step, "epoch": training.plan.epoch(step)}
    training.keeper.write(place | evaluation.record() | {"examples_per_second": speed})
    return evaluation


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
        """Examples a second since the last call."""
        speed = round(self.steps * self.batch_size / self.seconds, 1) if self.steps else None
        self.seconds, self.steps = 0.0, 0
        return speed
