"""The run that `mttt train` is asked for: one that is there, made longer if that is asked for, or a new one."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from mttt.cli.arguments import UsageError, flagged, refusing
from mttt.cli.say import count, say
from mttt.data import DataSet, describe
from mttt.devices import Company, OtherFailed, done_by_first
from mttt.fields import FieldError, differences
from mttt.recipes import Recipe, encode, recipe_of
from mttt.recipes.inner_optimizers import LearnedRateRecipe
from mttt.recipes.ttt import TTTRecipe
from mttt.runs import Run, origin, versions
from mttt.training import (
    CannotExtend,
    Loaded,
    Prepared,
    as_extended,
    begin_from,
    check_data,
    create_from,
    extend,
    load,
    prepare,
)


class Opened(NamedTuple):
    """A run, and its training."""

    run: Run
    prepared: Prepared
    longer: bool
    """is another number of epochs asked for than the run has?"""

    @property
    def finished(self) -> bool:
        """Is there nothing left to do?"""
        result = self.run.result
        return not self.longer and result is not None and result["step"] == self.prepared.plan.steps


def program() -> str:
    """What to type for this program: in a virtual environment that is not active, its path."""
    if shutil.which("mttt"):
        return "mttt"
    beside = Path(sys.executable).with_name("mttt")
    return os.path.relpath(beside) if beside.exists() else f"{os.path.relpath(sys.executable)} -m mttt"


def quoted(path: Path) -> str:
    """A path as a word of a command."""
    return shlex.quote(str(path))


def open_or_create(
    path: Path, recipe: Recipe, data: DataSet, console: Console, *, source: Path | None, anew: bool
) -> Opened:
    """The run at `path` if it has this recipe, perhaps with other epochs; or a new one. Another's run is left alone.

    A new one begins with the weights of `source`. `anew`: a training from drawn weights is asked for.
    """
    with refusing():
        prepared = prepare(recipe, data)
    if path.exists():
        return _open(path, recipe, data, console, source=source, anew=anew)
    if source is None:
        return Opened(Run.create(path, encode(recipe), describe(data)), prepared, False)
    with refusing():
        loaded = load(source)
        _check_learned_rate(recipe, loaded)
        begun = begin_from(prepared, loaded)
    run = create_from(path, prepared, data, begun, loaded, source)
    say(console, f"Weights of {source}, step {loaded.step}: {count(len(begun.taken), 'array')} taken")
    if begun.drawn:
        say(console, f"Redrawn: {', '.join(name.removeprefix('.') for name in begun.drawn)}")
    return Opened(run, prepared, False)


def opened_by_first(
    company: Company, make: Callable[[], Opened], path: Path, data: DataSet, console: Console
) -> Opened:
    """The first process opens or makes the run, and makes it longer; the others find it there."""
    if company.count == 1:
        return make()
    opened: list[Opened] = []

    def first() -> str:
        made = make()
        if made.longer:
            with made.run.locked():
                made = make_longer(made, console)
        opened.append(made)
        return ""

    try:
        done_by_first(company, first)
    except OtherFailed as error:
        raise UsageError(str(error)) from error
    if opened:
        return opened[0]
    run = Run.open(path)
    return Opened(run, prepare(recipe_of(run), data), False)


def _open(path: Path, recipe: Recipe, data: DataSet, console: Console, *, source: Path | None, anew: bool) -> Opened:
    run = Run.open(path)
    recipe = as_extended(run, recipe)
    # What to do with a bad picture may be decided when it is met: it changes nothing that was done so far.
    changed = [one for one in differences(encode(recipe_of(run)), encode(recipe)) if one.path != "data.on_error"]
    longer = [one.path for one in changed] == ["epochs"]
    if changed and not longer:
        raise UsageError(
            f"{path} is a run of another recipe, and is not overwritten:\n  "
            + "\n  ".join(map(flagged, changed))
            + "\nTrain this recipe elsewhere with --run DIR, or continue that run: "
            + f"{program()} train --run {quoted(path)}"
        )
    _check_origin(run, source, anew)
    with refusing():
        check_data(run, data)
        prepared = prepare(recipe, data)
    if other := differences(run.versions, versions()):
        say(console, "This run began with other versions; it may not continue exactly as it would have:")
        say(console, "  " + "\n  ".join(map(str, other)))
    return Opened(run, prepared, longer)


def _check_origin(run: Run, source: Path | None, anew: bool) -> None:
    """A run that began with other weights than are asked for is another run."""
    began = origin(run)
    if began is None and source is not None:
        raise UsageError(
            f"{run.path} is there, and began with drawn weights, not with those of {source}; take --run DIR"
        )
    if began is not None and (anew or (source is not None and Path(began["run"]) != source)):
        wanted = "drawn weights" if source is None else f"those of {source}"
        raise UsageError(
            f"{run.path} is there, and began with the weights of {began['run']}, not with {wanted}. Take --run DIR, or "
            f"continue it: mttt train --run {quoted(run.path)}"
        )


def _check_learned_rate(recipe: Recipe, source: Loaded) -> None:
    """A rate that was learned is one of the weights: where learning it began says nothing any more."""
    now, before = (
        each.model.mixer.optimizer if isinstance(each.model.mixer, TTTRecipe) else None
        for each in (recipe, source.recipe)
    )
    if isinstance(now, LearnedRateRecipe) and isinstance(before, LearnedRateRecipe) and now.start != before.start:
        reason = (
            f"the rates that the other run has learned are taken, so this changes nothing; leave it at {before.start}"
        )
        raise FieldError("model.mixer.optimizer.start", now.start, reason)


def make_longer(opened: Opened, console: Console) -> Opened:
    """Give the run the number of epochs that is asked for, where its steps so far allow it; the run is locked."""
    run, prepared, _ = opened
    before, wanted = recipe_of(run).epochs, prepared.recipe.epochs
    try:
        prepared, kept = extend(run, prepared.recipe, prepared)
    except CannotExtend as error:
        more = wanted - before
        ways = [f"train it again: {program()} train --recipe {quoted(run.path / 'recipe.json')} --epochs {wanted:g}"]
        if more > 0:
            ways.insert(0, f"continue from its weights: {program()} train --from {quoted(run.path)} --epochs {more:g}")
        raise UsageError("\n  ".join([f"{error}. Instead:", *ways])) from error
    where = "" if kept is None else f"; its result so far is in {kept.name}"
    say(console, f"{run.path} is now trained to epoch {wanted:g} instead of {before:g}{where}")
    return Opened(run, prepared, False)
