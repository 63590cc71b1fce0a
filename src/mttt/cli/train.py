"""mttt train"""

import hashlib
import json
import os
import shlex
import shutil
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from mttt.cli.arguments import (
    UsageError,
    flagged,
    kinds_help,
    preset_for_data,
    preset_recipe,
    refusing,
    take_kinds,
    take_preset,
)
from mttt.cli.progress import progress
from mttt.cli.say import say
from mttt.data import BadData, BadExample, DataSet, describe
from mttt.fields import differences
from mttt.outer import Interrupted
from mttt.recipes import (
    DEFAULT,
    PRESETS,
    Recipe,
    encode,
    recipe_of,
)
from mttt.recipes.check import not_negative
from mttt.report import complete_figures, draw_figures
from mttt.runs import Run, versions
from mttt.training import check_data, default_workers, launch, prepare


@dataclass(frozen=True)
class Arguments:
    """Arguments of mttt train."""

    recipe: Annotated[Recipe, tyro.conf.arg(name="")]
    run: Path | None = None
    """directory of the run (default: runs/PRESET, with a suffix if the recipe is not the preset's)"""
    workers: int | None = None
    """processes that prepare images; 0 is threads of this one. By default one for two processors where pictures are
    decoded, none otherwise. The numbers do not depend on it"""


def _description(recipe: Recipe) -> str:
    width = max(map(len, PRESETS))
    presets = "\n".join(f"  {name:{width}}  {preset.about}" for name, preset in PRESETS.items())
    return (
        f"Train a model: mttt train [PRESET] [--field value ...]\n\nPresets (default: {DEFAULT}):\n{presets}\n\n"
        f"Fields that choose by name; the options of the chosen kind are below:\n{kinds_help(recipe)}"
    )


def parse(words: list[str]) -> tuple[str | None, Arguments]:
    """The preset and the arguments. A run that exists and nothing else means: go on with that run's recipe."""
    preset, rest = take_preset(words)
    path = _run_word(rest)
    if preset is None and path is not None and (path / "recipe.json").is_file():
        base = recipe_of(Run.open(path))
    else:
        preset = preset or preset_for_data(rest)
        base = preset_recipe(preset)
    base, rest = take_kinds(base, rest)
    arguments = tyro.cli(
        Arguments,
        args=rest,
        default=Arguments(base),
        prog="mttt train",
        description=_description(base),
        config=(tyro.conf.AvoidSubcommands, tyro.conf.FlagConversionOff),
    )
    return preset, arguments


def _run_word(words: list[str]) -> Path | None:
    for place, word in enumerate(words):
        if word == "--run" and place + 1 < len(words):
            return Path(words[place + 1])
        if word.startswith("--run="):
            return Path(word.removeprefix("--run="))
    return None


def _default_path(preset: str, recipe: Recipe) -> Path:
    """runs/PRESET for the preset itself; other recipes get names of their own, so that they do not collide."""
    if recipe == PRESETS[preset].recipe:
        return Path("runs") / preset
    digest = hashlib.sha256(json.dumps(encode(recipe), sort_keys=True).encode()).hexdigest()
    return Path("runs") / f"{preset}-{digest[:6]}"


def open_or_create(path: Path, recipe: Recipe, data: DataSet, console: Console) -> Run:
    """The run at `path` if it has this recipe, or a new one. Another recipe's run is left alone."""
    wanted = encode(recipe)
    if not path.exists():
        return Run.create(path, wanted, describe(data))
    run = Run.open(path)
    # What to do with a bad picture may be decided when it is met: it changes nothing that was done so far.
    changed = [one for one in differences(run.recipe, wanted) if one.path != "data.on_error"]
    if changed:
        raise UsageError(
            f"{path} is a run of another recipe, and is not overwritten:\n  "
            + "\n  ".join(map(flagged, changed))
            + "\n"
            f"Train this recipe elsewhere with --run DIR, or go on with that run: mttt train --run {path}"
        )
    with refusing():
        check_data(run, data)
    if changed := differences(run.versions, versions()):
        say(console, "This run began with other versions; it may not go on exactly as it would have:")
        say(console, "  " + "\n  ".join(map(str, changed)))
    return run


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    with refusing():
        preset, arguments = parse(words)
        recipe = arguments.recipe
        not_negative(workers=arguments.workers or 0)
        data = recipe.data.load()
        prepared = prepare(recipe, data)
        prepared.check()
    path = arguments.run or _default_path(preset or DEFAULT, recipe)
    run = open_or_create(path, recipe, data, console)
    if run.result is not None:
        say(console, f"{path} is finished: accuracy {run.result['accuracy']:.1%}. Train anew with --run DIR.")
        complete_figures(run)  # killed before they were drawn, or matplotlib came later
        _next_steps(run, console)
        return 0
    workers = default_workers(data) if arguments.workers is None else arguments.workers
    begin = time.monotonic()
    with run.locked():
        say(console, f"Run: {path}  (stop with Ctrl-C; the same command goes on)")
        say(console, _what_is_there(data))
        try:
            with progress(console, prepared.plan.steps, data.evaluation_name) as observer:
                evaluation = launch(prepared, data, run, observer, workers=workers)
        except BadExample as error:
            message = f"{error}. Mend it, or go on without it: {_program()} train --run {_quoted(run)}"
            raise BadData(f"{message} --data.on-error skip") from error
        except Interrupted as stopped:
            with suppress(OSError):  # the terminal may be gone
                say(
                    console,
                    f"\nStopped and saved at step {stopped.step}. Go on with: {_program()} train --run {_quoted(run)}",
                )
            return 128 + stopped.signal_number
        figures = draw_figures(run)
    seconds = time.monotonic() - begin
    result = f"Accuracy {evaluation.accuracy:.1%} on {evaluation.examples} {data.evaluation_name} images"
    say(console, f"\n{result}, after {seconds:.0f} s in this process.")
    if skipped := run.metrics.read("skipped"):
        say(console, f"Skipped {len(skipped)} images that cannot be used; metrics.jsonl lists them. The first:")
        say(console, f"  {skipped[0]['name']}: {skipped[0]['reason']}")
    if not figures:
        say(console, 'No figures: matplotlib is not installed (pip install "mttt[plots]").')
    _next_steps(run, console)
    return 0


def _what_is_there(data: DataSet) -> str:
    """Nobody should train on less than they think."""
    there = (
        f"{len(data.train)} images of {len(data.classes)} classes, {len(data.evaluation)} {data.evaluation_name} images"
    )
    if not data.ignored:
        return there
    return f"{there}. {len(data.ignored)} files or folders beside them are not read: {', '.join(data.ignored[:3])}" + (
        ", …" if len(data.ignored) > 3 else ""
    )


def _program() -> str:
    """What to type for this program: in a virtual environment that is not active, its path."""
    return "mttt" if shutil.which("mttt") else f"{os.path.relpath(sys.executable)} -m mttt"


def _quoted(run: Run) -> str:
    return shlex.quote(str(run.path))


def _next_steps(run: Run, console: Console) -> None:
    figures = ", figures/" if run.figures.exists() else ""
    say(console, f"The run is in {run.path}/: recipe.json, metrics.jsonl, checkpoints/, result.json{figures}")
    program, path = _program(), _quoted(run)
    lines = [
        (f"{program} evaluate {path}", "accuracy, and what the inner loops do"),
        (f"{program} evaluate {path} --steps 0", "the same model without learning at test time"),
        (f"{program} predict {path} IMAGE", "classify a picture of yours"),
        (f"{program} train --help", "all that can be changed"),
    ]
    if run.result is None or run.result["inner_losses"] is None:
        del lines[1]
    width = max(len(command) for command, _ in lines)
    say(console, "What next:\n" + "\n".join(f"  {command:{width}}  {about}" for command, about in lines))
