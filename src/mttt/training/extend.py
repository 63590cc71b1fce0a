"""Making a run longer, where its steps so far are those of the longer training."""

from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from mttt.recipes import Recipe, decode, encode, recipe_of
from mttt.runs import Run, history, lengthen
from mttt.training.prepare import Prepared, prepare_for


class CannotExtend(ValueError):
    """A run whose steps so far are not those of a training of the length that is asked for."""


def steps_done(run: Run) -> int:
    """How many steps a run need not do again."""
    if not (run.path / "checkpoints").is_dir():
        return 0
    with run.checkpoints() as checkpoints:
        return checkpoints.latest() or 0


def as_extended(run: Run, wanted: Recipe) -> Recipe:
    """The recipe with the run's part of warm-up, if it has the one that was asked for before the run was made longer.

    So the command that made a run longer also goes on with it.
    """
    earlier = {decode(entry["recipe"]).optimizer.warmup for entry in history(run)}
    if wanted.optimizer.warmup not in earlier:
        return wanted
    return replace(wanted, optimizer=replace(wanted.optimizer, warmup=recipe_of(run).optimizer.warmup))


def extend(run: Run, wanted: Recipe, prepared: Prepared) -> tuple[Prepared, Path | None]:
    """Give a run the number of epochs of `wanted`; its training, and where its result so far is kept.

    `prepared` is that of `wanted`. The warm-up keeps its number of steps. A CannotExtend says why a run cannot go on.
    """
    own, done = recipe_of(run), steps_done(run)
    spec, examples = prepared.spec, prepared.plan.examples
    before, steps = prepare_for(own, spec, examples), prepared.plan.steps
    if steps <= done:
        trained = f"{run.path} has already been trained to epoch {before.plan.epoch(done):.3g}"
        raise CannotExtend(f"{trained}, so it cannot end at epoch {wanted.epochs:g}")
    if done:
        warmup = min(own.optimizer.warmup_steps(before.plan.steps), steps - 1)
        if wanted.optimizer.warmup_steps(steps) != warmup:
            wanted = replace(wanted, optimizer=replace(wanted.optimizer, warmup=warmup / steps))
        prepared = prepare_for(wanted, spec, examples)
        _check_rates(run, before, prepared, done)
    longer = replace(own, epochs=wanted.epochs, optimizer=wanted.optimizer)
    return prepared, lengthen(run, encode(longer), done)


def _check_rates(run: Run, before: Prepared, after: Prepared, done: int) -> None:
    was, would = (np.asarray(each.rate(jnp.arange(done))) for each in (before, after))
    if (other := np.flatnonzero(was != would)).size:
        last = other[-1]
        short, long = (f"{each.recipe.epochs:g}" for each in (before, after))
        raise CannotExtend(
            f"{run.path} cannot continue to epoch {long}: its outer rate was planned for an end at epoch {short} and "
            f"fell to {was[last]:.2g} at step {last + 1}; with an end at epoch {long} it would be {would[last]:.2g} "
            "there"
        )
