"""mttt train"""

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from mttt.cli.arguments import UsageError, kinds_help, preset_recipe, refusing, take_kinds, take_preset
from mttt.cli.progress import progress
from mttt.outer import Interrupted
from mttt.recipes import DEFAULT, PRESETS, Recipe, decode, differences, encode, launch
from mttt.report import draw_figures
from mttt.runs import Run, versions


@dataclass(frozen=True)
class Arguments:
    """Arguments of mttt train."""

    recipe: Annotated[Recipe, tyro.conf.arg(name="")]
    run: Path | None = None
    """directory of the run (default: runs/PRESET, with a suffix if the recipe is not the preset's)"""


def _description() -> str:
    presets = "\n".join(f"  {name:16}{preset.about}" for name, preset in PRESETS.items())
    return (
        f"Train a model: mttt train [PRESET] [--field value ...]\n\nPresets (default: {DEFAULT}):\n{presets}\n\n"
        f"Fields that choose by name; the options of the chosen kind are below:\n{kinds_help()}"
    )


def parse(words: list[str]) -> tuple[str | None, Arguments]:
    """The preset and the arguments. A run that exists and nothing else means: go on with that run's recipe."""
    preset, rest = take_preset(words)
    base = preset_recipe(preset)
    if preset is None and (path := _run_word(rest)) is not None and (path / "recipe.json").is_file():
        base = decode(Run.open(path).recipe)
    base, rest = take_kinds(base, rest)
    arguments = tyro.cli(
        Arguments,
        args=rest,
        default=Arguments(base),
        prog="mttt train",
        description=_description(),
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


def open_or_create(path: Path, recipe: Recipe, console: Console) -> Run:
    """The run at `path` if it has this recipe, or a new one. Another recipe's run is left alone."""
    wanted = encode(recipe)
    if not path.exists():
        return Run.create(path, wanted)
    run = Run.open(path)
    if changed := differences(run.recipe, wanted):
        raise UsageError(
            f"{path} is a run of another recipe, and is not overwritten:\n  " + "\n  ".join(changed) + "\n"
            f"Train this recipe elsewhere with --run DIR, or go on with that run: mttt train --run {path}"
        )
    if changed := differences(run.versions, versions()):
        console.print("[yellow]This run began with other versions; it may not go on exactly as it would have:[/]")
        console.print("  " + "\n  ".join(changed), highlight=False)
    return run


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    with refusing():
        preset, arguments = parse(words)
        recipe = arguments.recipe
        data = recipe.data.load()
        recipe.check(data)
    path = arguments.run or _default_path(preset or DEFAULT, recipe)
    run = open_or_create(path, recipe, console)
    if run.result is not None:
        console.print(f"{path} is finished: accuracy {run.result['accuracy']:.1%}. Train anew with --run DIR.")
        _next_steps(run, console)
        return 0
    begin = time.monotonic()
    with run.locked():
        console.print(f"Run: {path}  (stop with Ctrl-C; the same command goes on)", highlight=False)
        try:
            with progress(console, recipe.plan(data).steps, data.evaluation_name) as observer:
                evaluation = launch(recipe, data, run, observer)
        except Interrupted as stopped:
            console.print(f"\nStopped and saved at step {stopped.step}. Go on with: mttt train --run {path}")
            return 128 + stopped.signal_number
        figures = draw_figures(run)
    console.print(
        f"\nAccuracy {evaluation.accuracy:.1%} on {evaluation.images} {data.evaluation_name} images, "
        f"after {time.monotonic() - begin:.0f} s in this process.",
        highlight=False,
    )
    if not figures:
        console.print('No figures: matplotlib is not installed (pip install "mttt[plots]").', markup=False)
    _next_steps(run, console)
    return 0


def _next_steps(run: Run, console: Console) -> None:
    path = run.path
    figures = f"  figures: {path}/figures/" if run.figures.exists() else ""
    console.print(
        f"The run is in {path}/: recipe.json, metrics.jsonl, checkpoints/, result.json{figures}", soft_wrap=True
    )
    console.print(
        f"What next:\n"
        f"  mttt evaluate {path}              accuracy, and what the inner loops do\n"
        f"  mttt evaluate {path} --steps 0    the same model without learning at test time\n"
        f"  mttt predict {path} IMAGE         classify a picture of yours\n"
        f"  mttt train --help                 all that can be changed",
        highlight=False,
        soft_wrap=True,
    )
