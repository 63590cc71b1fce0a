"""mttt train"""

import shutil
import textwrap
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from mttt.cli.arguments import (
    UsageError,
    check_workers,
    flag,
    preset_for_data,
    recipe_flags,
    refusing,
    take_kinds,
    take_preset,
    value_of,
)
from mttt.cli.company import DEVICE_FLAGS, Devices, check_alike, in_company, quiet_unless_first
from mttt.cli.described import described
from mttt.cli.opening import make_longer, open_or_create, opened_by_first, program, quoted
from mttt.cli.parsing import parsed
from mttt.cli.progress import progress
from mttt.cli.say import count, say
from mttt.cli.tracking import TrackerName, check_trackers, feeding
from mttt.cli.waiting import waiting
from mttt.cli.wording import beside, wording
from mttt.data import BadData, BadExample, describe
from mttt.devices import Company, Placement, placement_of
from mttt.outer import Interrupted
from mttt.recipes import DEFAULT, PRESETS, Recipe, encode, name_of, read_recipe, recipe_of, stem_of
from mttt.recipes.options import options
from mttt.recipes.ttt import STARTS, TTTRecipe
from mttt.report import complete_figures, draw_figures
from mttt.runs import Run, versions
from mttt.training import default_workers, launch, prepare

# tyro keeps the line breaks of a docstring, so what takes more than a line is written here.
_RUN = (
    "directory of the run (default: runs/PRESET, and what differs from the preset). A run that is there continues, and "
    "may get more --epochs if its --optimizer.schedule allows it"
)
_FROM = (
    "begin with the weights of this run, and its recipe unless a preset is named. If the classes are others, the map "
    "to the classes is redrawn"
)
_WORKERS = (
    "processes that prepare images; 0 is threads of this one. By default one for two processors where pictures are "
    "decoded, none otherwise. The numbers do not depend on it"
)
_DISTRIBUTED = (
    "several processes: auto finds Slurm, Open MPI, Cloud TPU and Kubernetes; off is one process; "
    "HOST:PORT,COUNT,NUMBER names process 0's address, how many there are, and which one this is"
)


@dataclass(frozen=True)
class Arguments:
    """Train a model, or continue a run.

    Examples:
        mttt train                                        # digits, MTTT-MLP
        mttt train digits --model.mixer self-attention    # another layer
        mttt train digits --model.mixer.batching.steps 4  # four inner steps
        mttt train folder --data.path pictures/           # your own images
        mttt train --run runs/digits                      # continue a run
        mttt train --from runs/digits --epochs 5          # from its weights
        mttt train --recipe runs/digits/recipe.json --seed 1
        mttt train digits --track tensorboard
    """

    recipe: Annotated[Recipe, tyro.conf.arg(name="")]
    run: Annotated[Path | None, tyro.conf.arg(help=_RUN)] = None
    start: Annotated[Path | None, tyro.conf.arg(name="from", help=_FROM)] = None
    file: Annotated[Path | None, tyro.conf.arg(name="recipe")] = None
    """JSON file with a recipe to start from instead of a preset: the recipe.json of a run, or one of your own"""
    workers: Annotated[int | None, tyro.conf.arg(help=_WORKERS)] = None
    track: tuple[TrackerName, ...] = ()
    """show the numbers there while it trains (mttt track does it afterwards)"""
    devices: Devices = field(default_factory=Devices)
    distributed: Annotated[str, tyro.conf.arg(help=_DISTRIBUTED)] = "auto"
    patience: float = 60.0
    """seconds after which a process that is killed or hangs is given up by the others"""


def _description(recipe: Recipe) -> str:
    width = max(map(len, PRESETS)) + 4
    presets = "\n".join(_hanging(f"  {name:{width - 2}}", preset.about) for name, preset in PRESETS.items())
    return (
        f"{described(Arguments).about} mttt train [PRESET] [--field value ...]\n\n"
        f"Presets (default: {DEFAULT}):\n{presets}\n\n"
        f"Fields that choose by name; the options of the chosen kind are below:\n{_choices(recipe)}"
    )


def _choices(recipe: Recipe) -> str:
    """The names that fields with kinds take. A start has no options of its own, and so no kinds."""
    names = {path: list(here) for path, here in options(recipe).items()}
    if isinstance(recipe.model.mixer, TTTRecipe):
        names["model.mixer.start"] = list(STARTS)
    lines = (_hanging(f"  {flag(path)} ", f"{{{', '.join(here)}}}", indent=6) for path, here in names.items())
    return "\n".join(lines)


def _hanging(head: str, text: str, indent: int | None = None) -> str:
    """Text beside its head, in as many lines as the terminal's width asks for."""
    columns = max(shutil.get_terminal_size().columns, len(head) + 20)
    later = " " * (len(head) if indent is None else indent)
    return textwrap.fill(text, columns, initial_indent=head, subsequent_indent=later, break_on_hyphens=False)


def parse(words: list[str]) -> tuple[str | None, Arguments]:
    """The preset and the arguments. A run that exists and nothing else means: go on with that run's recipe."""
    preset, rest = take_preset(words)
    file, start, run = (Path(value) if value else None for value in (value_of(name, rest) for name in _STARTS))
    if preset is not None and file is not None:
        raise UsageError(f"both the preset {preset} and --recipe {file} are given; take one of them")
    if preset is None and file is None and start is None and run is not None and (run / "recipe.json").is_file():
        base = recipe_of(Run.open(run))
    else:
        if file is None and start is None:
            preset = preset or preset_for_data(rest)
        _, base = _base(preset, file, start)
    base, rest = take_kinds(base, rest)
    arguments = parsed(
        Arguments,
        rest,
        known=[*recipe_flags(base), *_STARTS, "--workers", "--track", *DEVICE_FLAGS],
        default=Arguments(base),
        prog="mttt train",
        description=_description(base),
        config=(tyro.conf.AvoidSubcommands, tyro.conf.FlagConversionOff),
    )
    return preset, arguments


_COLUMNS = 80
_STARTS = ("--recipe", "--from", "--run")


def _base(preset: str | None, file: Path | None, start: Path | None) -> tuple[str, Recipe]:
    """The recipe that fields change, and how runs of it are called."""
    if file is not None:
        stem, recipe = stem_of(file), read_recipe(file)
    elif preset is None and start is not None:
        stem, recipe = "", recipe_of(Run.open(start))
    else:
        stem, recipe = preset or DEFAULT, PRESETS[preset or DEFAULT].recipe
    if start is not None:
        stem = f"{stem}-from-{start.absolute().name}".removeprefix("-")
    return stem, recipe


def default_path(preset: str | None, arguments: Arguments) -> Path:
    """runs/PRESET for the preset itself; other recipes have what differs in their names."""
    return Path("runs") / name_of(*_base(preset, arguments.file, arguments.start), arguments.recipe)


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    with refusing():
        preset, arguments = parse(words)
        check_workers(arguments.workers)
        check_trackers(arguments.track, "--track")
        path = arguments.run or default_path(preset, arguments)
    with in_company(arguments.distributed, arguments.patience) as company:
        return _train(preset, arguments, path, company, quiet_unless_first(company, console))


def _train(preset: str | None, arguments: Arguments, path: Path, company: Company, console: Console) -> int:
    with refusing(), waiting("reading the data") as wait:
        data = arguments.recipe.data.load()
        wait("checking the recipe")
        wanted = arguments.devices
        placement = placement_of(data=wanted.data, sequence=wanted.sequence, sharded=wanted.parameters == "sharded")
        prepare(arguments.recipe, data).on(placement).check()
    check_alike(company, {"recipe": encode(arguments.recipe), "version": versions(), "data set": describe(data)})
    start, anew = arguments.start, arguments.start is None and preset is not None
    open_here = partial(open_or_create, path, arguments.recipe, data, console, source=start, anew=anew)
    with waiting("opening the run"):
        opened = opened_by_first(company, open_here, path, data, console)
    if opened.finished:
        return _tell_finished(opened.run, console) if company.first else 0
    begin = time.monotonic()
    with opened.run.locked() if company.first else nullcontext():
        if opened.longer:
            opened = make_longer(opened, console)
        run, prepared, words = opened.run, opened.prepared.on(placement), wording(opened.prepared.recipe)
        say(console, f"Run: {path}\nCtrl-C stops and saves; the same command continues.")
        say(console, words.there(data) + beside(data))
        if placement.mesh.size > 1:
            say(console, _where(placement, company))
        workers = default_workers(data) if arguments.workers is None else arguments.workers
        try:
            plan, shown = prepared.plan, (data.evaluation_name, words.numbers)
            with (
                feeding(arguments.track if company.first else (), run, console) as feeds,
                progress(console, plan.steps, *shown, evaluate_every=plan.evaluate_every) as observer,
            ):
                evaluation = launch(prepared, data, run, feeds.beside(observer), workers=workers, company=company)
        except BadExample as error:
            if not hasattr(prepared.recipe.data, "on_error"):
                raise BadData(str(error)) from error
            skip = f"{program()} train --run {quoted(path)} --data.on-error skip"
            raise BadData(f"{error}. Replace or delete the file, or train without it: {skip}") from error
        except Interrupted as stopped:
            again = " ".join([f"{program()} train --run {quoted(path)}", *_tracking(arguments)])
            with suppress(OSError):  # the terminal may be gone
                say(console, f"\nStopped and saved at step {stopped.step}. Continue with: {again}")
            return 128 + stopped.signal_number
        with waiting("drawing figures"):
            figures = draw_figures(run) if company.first else []
    seconds = time.monotonic() - begin
    say(console, f"\n{words.result(evaluation, data)}, after {seconds:.0f} s in this process.")
    if skipped := run.metrics.read("skipped"):
        say(
            console,
            f"Skipped {count(len(skipped), words.example)} that cannot be used; metrics.jsonl has the list. The first:",
        )
        say(console, f"  {skipped[0]['name']}: {skipped[0]['reason']}")
    if not figures:
        say(console, "No figures: matplotlib is not installed (pip install matplotlib).")
    _next_steps(run, console)
    return 0


def _tracking(arguments: Arguments) -> list[str]:
    return ["--track", *arguments.track] if arguments.track else []


def _where(placement: Placement, company: Company) -> str:
    processes = f", {company.count} processes" if company.count > 1 else ""
    return f"On {placement}{processes}"


def _tell_finished(run: Run, console: Console) -> int:
    assert run.result is not None
    say(console, f"{run.path} is finished: accuracy {run.result['accuracy']:.1%}. Train again with --run DIR.")
    with waiting("drawing figures"):
        complete_figures(run)  # killed before they were drawn, or matplotlib came later
    _next_steps(run, console)
    return 0


def _next_steps(run: Run, console: Console) -> None:
    figures = ", figures/" if run.figures.exists() else ""
    say(console, f"In {run.path}/:\n  recipe.json, metrics.jsonl, checkpoints/, result.json{figures}")
    start, path = program(), quoted(run.path)
    steps = [*wording(recipe_of(run)).next_steps(run, path), ("runs", "all runs, and what differs")]
    lines = [(f"{start} {words}", about) for words, about in [*steps, ("train --help", "all that can be changed")]]
    width = max(len(command) for command, _ in lines)
    fits = all(width + len(about) + 4 <= _COLUMNS for _, about in lines)
    texts = [f"  {command:{width}}  {about}" if fits else f"  {about}:\n    {command}" for command, about in lines]
    say(console, "\n".join(["What next:", *texts]))
