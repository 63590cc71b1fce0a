"""What a run says of itself beyond its first recipe: longer trainings, and whose weights it began with."""

from pathlib import Path
from typing import Any

from mttt.runs.errors import RunError
from mttt.runs.header import read_header, write_header
from mttt.runs.run import Run


def history(run: Run) -> list[dict[str, Any]]:
    """The recipes that a run had before it was made longer, each with the step that it had reached; the first first."""
    found = read_header(run.path).get("history", [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) and "recipe" in entry for entry in found):
        raise RunError(f"{run.path / 'recipe.json'} is not the recipe of a run: history must be a list of recipes")
    return found


def origin(run: Run) -> dict[str, Any] | None:
    """The run whose weights this one began with, its step, and a digest of its arrays; None if they were drawn."""
    found = read_header(run.path).get("from")
    if found is not None and not (isinstance(found, dict) and "run" in found and "step" in found):
        raise RunError(f"{run.path / 'recipe.json'} is not the recipe of a run: from must name a run and its step")
    return found


def record_origin(run: Run, origin: dict[str, Any]) -> None:
    """Write down whose weights a new run begins with."""
    write_header(run.path, read_header(run.path) | {"from": origin})


def lengthen(run: Run, recipe: dict[str, Any], step: int) -> Path | None:
    """Give a run that has done `step` steps a recipe of another length; where its result is kept, if it has one.

    The result goes first: whenever the process is killed, no result is beside a recipe that it does not belong to.
    """
    kept = None
    if (result := run.result) is not None:
        kept = run.path / f"result-{result['step']}.json"
        with run.writing(kept.name):
            (run.path / "result.json").rename(kept)
    written = read_header(run.path)
    entry = {"recipe": written["recipe"], "step": step}
    longer = written | {"recipe": recipe, "history": [*written.get("history", []), entry]}
    with run.writing("recipe.json"):
        write_header(run.path, longer)
    return kept
