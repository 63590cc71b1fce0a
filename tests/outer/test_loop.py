"""The loop: what is written, saved and evaluated when, with a step that only counts."""

import itertools
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mttt.outer import (
    Evaluation,
    ExactGradient,
    Interrupted,
    NotFinite,
    Plan,
    Score,
    State,
    Training,
    train,
)

PLAN = Plan(steps=6, batch_size=4, examples=8, log_every=2, evaluate_every=3, checkpoint_every=4)
GOOD = Evaluation(0.5, 1.0, 10, np.ones((1, 1, 2)))


def at(step, broken=-1, totals=(0.0, 0.0, 0.0)):
    """A state of a model that has nothing in it."""
    state = State({}, ExactGradient(optax.identity()), key=jax.random.key(0))
    parts = (jnp.asarray(step), jnp.asarray(broken), Score(*map(jnp.asarray, totals)))
    return eqx.tree_at(lambda s: (s.step, s.broken, s.totals), state, parts)


def advance(state, batch, breaks_at=None):
    step, old = int(state.step) + 1, state.totals
    broken = step if step == breaks_at else int(state.broken)
    return at(step, broken, (old.loss + 4.0 * step, old.correct + 2.0, old.count + 4.0)), jnp.asarray(step)


class Notes:
    """A keeper that remembers in which order it was called."""

    def __init__(self, kept=None, stops_at=None):
        self.kept, self.stops_at, self.step, self.calls = kept, stops_at, 0, []

    def at(self, step):
        self.step = step

    def write(self, record):
        self.calls.append((record["kind"], record["step"]))
        self.last = record

    def save(self, step, state):
        assert int(state.step) == step
        self.kept = step
        self.calls.append(("save", step))

    def saved(self):
        return self.kept

    def stop(self):
        return 15 if self.step + 1 == self.stops_at else None


def run(keeper, *, first=0, batches=None, evaluate=lambda model: GOOD, step=advance):
    training = Training(PLAN, step, lambda step: 0.1 * step, evaluate, keeper)
    return train(training, at(first), batches or itertools.count())


def test_records_come_before_the_checkpoint_of_their_step():
    keeper = Notes()
    assert run(keeper) == GOOD
    last = [("train", 6), ("evaluation", 6), ("save", 6)]
    assert keeper.calls == [("train", 2), ("evaluation", 3), ("train", 4), ("save", 4), *last]
    assert (keeper.last["epoch"], keeper.last["examples"], keeper.last["inner_losses"]) == (3.0, 10, [[1.0, 1.0]])


def test_a_line_of_metrics_is_a_mean_since_the_last_one():
    keeper, records = Notes(), []
    keeper.write = records.append
    run(keeper)
    assert [(r["loss"], r["accuracy"], r["rate"]) for r in records if r["kind"] == "train"] == [
        (step - 0.5, 0.5, pytest.approx(0.1 * (step - 1))) for step in (2, 4, 6)
    ]


def test_it_goes_on_from_a_state_and_has_a_result_if_nothing_is_left():
    keeper = Notes(kept=4)
    run(keeper, first=4)
    assert keeper.calls == [("train", 6), ("evaluation", 6), ("save", 6)]
    keeper = Notes(kept=6)
    assert run(keeper, first=6) == GOOD and keeper.calls == []


def test_who_asks_it_to_stop_finds_everything_saved():
    keeper = Notes(stops_at=3)
    with pytest.raises(Interrupted, match="saved at step 3") as stopped:
        run(keeper)
    assert (stopped.value.signal_number, keeper.calls[-1]) == (15, ("save", 3))
    run(Notes(stops_at=6))  # it was at its end anyway


def test_the_first_evaluation_of_a_process_compiles_and_has_no_speed():
    keeper, records = Notes(), []
    keeper.write = records.append
    run(keeper)
    speeds = [r["examples_per_second"] for r in records if r["kind"] == "evaluation"]
    assert speeds[0] is None and speeds[1] > 0


def failing_batches():
    yield from range(5)
    raise OSError("the disk is gone")


def no_evaluation(model):
    raise OSError("the disk is gone")


@pytest.mark.parametrize(("broken", "step"), [({"batches": True}, 5), ({"evaluate": no_evaluation}, 3)])
def test_when_the_data_fail_what_was_learned_is_kept(broken, step):
    keeper = Notes()
    options = {"batches": failing_batches()} if "batches" in broken else broken
    with pytest.raises(OSError, match="disk"):
        run(keeper, **options)
    assert keeper.calls[-1] == ("save", step)


def test_what_is_not_finite_is_not_kept():
    keeper = Notes(kept=None)
    with pytest.raises(NotFinite, match="at step 3; there is no checkpoint yet"):
        run(keeper, step=partial(advance, breaks_at=3))
    assert keeper.calls == [("train", 2)]
    with pytest.raises(NotFinite, match="at step 5; the checkpoint of step 4 is kept") as refused:
        run(Notes(), step=partial(advance, breaks_at=5))
    assert "--" not in str(refused.value)  # only the command line knows flags
    keeper = Notes()
    with pytest.raises(NotFinite):
        run(keeper, evaluate=lambda model: GOOD._replace(loss=float("nan")))
    assert keeper.calls == [("train", 2)]
