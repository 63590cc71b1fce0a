"""mttt evaluate"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from mttt.cli.arguments import UsageError, check_file, refusing
from mttt.cli.evaluate_tables import show_classes, show_losses
from mttt.cli.evaluate_text import report_text
from mttt.cli.parsing import parsed
from mttt.cli.say import one_line, say
from mttt.cli.waiting import waiting
from mttt.data import EvaluationBatches, View
from mttt.mixers import frozen, has_inner_loop, with_inner_loop
from mttt.outer import Confusion, Evaluation, self_check
from mttt.recipes.causal_ttt import CausalTTTRecipe
from mttt.recipes.purpose import TextData
from mttt.recipes.ttt import TTTRecipe
from mttt.report import draw_confusion
from mttt.report.plots import can_draw
from mttt.runs import Run
from mttt.training import Loaded, in_context, load, load_data, load_test

MOST_IN_JSON = 4096  # classes; the matrix of more would not fit the memory of who reads it


@dataclass(frozen=True)
class Arguments:
    """Evaluate a trained model, with any number of inner steps. It does not change.

    Examples:
        mttt evaluate runs/digits                     # as it was trained
        mttt evaluate runs/digits --steps 0           # without learning at test time
        mttt evaluate runs/digits --figure confusion.png
        mttt evaluate runs/shakespeare --context 256  # a text: in longer windows
    """

    run: tyro.conf.Positional[Path]
    """directory of the run"""
    steps: int | None = None
    """T, the number of inner steps, instead of the one it was trained with; 0 is no learning at test time"""
    rate: float | None = None
    """a fixed inner rate η instead of the one it was trained with"""
    context: int | None = None
    """of a text, windows of so many bytes instead of those that it was trained with: how far does it read?"""
    test: Path | None = None
    """another test set, in any form that mttt data inspect reads; its classes are some of the run's, or it is text"""
    data_path: Annotated[Path | None, tyro.conf.arg(name="data.path")] = None
    """where the run's own data are now, if they were moved"""
    figure: Path | None = None
    """draw the confusion matrix into this PNG file; of a text, the loss by position in the context"""
    json: bool = False
    """print JSON: accuracy, loss, inner_losses as [layer][t], by_class, confusion as [true class][predicted class]"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = parsed(Arguments, words, prog="mttt evaluate")
    _check(arguments)
    with refusing(), waiting("reading data and model"):
        batches, where, loaded = _load(arguments)
        self_check()
    with refusing(), waiting("checking the model"):
        model = _changed(loaded, arguments)
        loaded.prepared.check_evaluation(model, batches.batch_size)  # more mini-batches than tokens?
    result = _evaluate(loaded, model, batches)
    if not math.isfinite(result.loss):
        raise UsageError("the inner loop diverged: the loss is not finite; take fewer steps or a lower rate")
    if isinstance(loaded.recipe.data, TextData):
        results = {"as trained" if arguments.rate is None else f"rate {arguments.rate:g}": result}
        if has_inner_loop(model):
            results["W₀ frozen"] = _evaluate(loaded, frozen(model), batches)
        report_text(results, where, console, as_json=arguments.json, figure=arguments.figure)
        return 0
    _report(result, where, batches, loaded, arguments, console)
    return 0


def _evaluate(loaded: Loaded, model: Any, batches: EvaluationBatches) -> Evaluation:
    with waiting("compiling") as wait:
        say_where = lambda done, total: wait(f"evaluating, batch {done + 1:,} of {total:,}" if done else "compiling")  # noqa: E731
        return loaded.prepared.evaluate(model, batches, say_where)


def _report(
    result: Evaluation,
    where: str,
    batches: EvaluationBatches,
    loaded: Loaded,
    arguments: Arguments,
    console: Console,
) -> None:
    """All that is said of a model that classifies."""
    assert result.answers is not None
    confusion = Confusion.of(result.answers, len(loaded.classes))
    names = [one_line(name) for name in loaded.classes]
    if arguments.json:
        record = {"data": where, **result.record(), "inner_losses": _finite(result.per_layer())}
        skipped = [example._asdict() for example in batches.skipped]
        print(json.dumps({**record, **_by_class(confusion, loaded.classes), "skipped": skipped}))
    else:
        _show(result, where, batches, console)
        show_classes(confusion, names, console)
    if arguments.figure is not None:
        title = one_line(f"accuracy {result.accuracy:.1%} on {result.examples:,} {where}")
        with waiting("drawing"):
            draw_confusion(arguments.figure, confusion.matrix(), names, title)
        if not arguments.json:
            say(console, f"Confusion matrix: {arguments.figure}")


def _check(arguments: Arguments) -> None:
    """Refuse before anything is read."""
    if arguments.test is not None and arguments.data_path is not None:
        raise UsageError("--test is another test set, --data.path another place of the run's own: give one of them")
    if arguments.figure is not None:
        check_file(arguments.figure)
        if arguments.figure.suffix.lower() != ".png":
            raise UsageError(f"{arguments.figure}: the figure is a PNG file; name it so")
        if not can_draw():
            raise UsageError("--figure needs matplotlib: pip install matplotlib")


def _load(arguments: Arguments) -> tuple[EvaluationBatches, str, Loaded]:
    """What to evaluate on, its name, and the model."""
    view, where, loaded = _view(arguments)
    if arguments.context is not None:
        view, loaded = in_context(loaded, view, arguments.context)
    return loaded.prepared.batches_of(view), where, loaded


def _view(arguments: Arguments) -> tuple[View, str, Loaded]:
    if arguments.test is not None:
        loaded = load(arguments.run)
        test = load_test(loaded, arguments.test)
        return test.view, test.name, loaded
    data = load_data(Run.open(arguments.run), arguments.data_path)
    loaded = load(arguments.run)
    own: Any = loaded.recipe.data
    place = arguments.data_path or getattr(own, "path", "") or own.kind
    what = "part" if isinstance(own, TextData) else "images"
    return data.evaluation, f"{data.evaluation_name} {what} of {place}", loaded


def _changed(loaded: Loaded, arguments: Arguments) -> Any:
    """The model with the inner loop that is asked for."""
    steps, rate, mixer = arguments.steps, arguments.rate, loaded.recipe.model.mixer
    if steps is None and rate is None:
        return loaded.model
    if not has_inner_loop(loaded.model) or not isinstance(mixer, TTTRecipe | CausalTTTRecipe):
        raise UsageError(f"{arguments.run} has no inner loop: --steps and --rate change nothing in it")
    if steps is not None and isinstance(mixer, TTTRecipe):
        replace(mixer.batching, steps=steps)  # refuses what no recipe could have
    optimizer = None if rate is None else mixer.optimizer_at(rate)
    return with_inner_loop(loaded.model, steps=steps, optimizer=optimizer)


def _finite(layers: list[list[float]] | None) -> list[list[float | None]] | None:
    """JSON has no infinity, and an inner loop may end there though the logits are finite."""
    if layers is None:
        return None
    return [[loss if math.isfinite(loss) else None for loss in losses] for losses in layers]


def _by_class(confusion: Confusion, classes: Sequence[str]) -> dict[str, Any]:
    examples, correct = (counts.tolist() for counts in confusion.by_class())
    return {
        "by_class": {
            name: {"examples": all_of_it, "accuracy": right / all_of_it if all_of_it else None}
            for name, all_of_it, right in zip(classes, examples, correct, strict=True)
        },
        "classes": list(classes),
        "confusion": confusion.matrix().tolist() if len(classes) <= MOST_IN_JSON else None,
    }


def _show(result: Evaluation, where: str, batches: EvaluationBatches, console: Console) -> None:
    examples = f"{result.examples} {one_line(where)}"
    say(console, f"accuracy {result.accuracy:.2%}  loss {result.loss:.4f}  on {examples}")
    for name, reason in batches.skipped:
        say(console, f"skipped {one_line(name)}: {reason}")
    if (layers := result.per_layer()) is None:
        say(console, "This mixer has no inner loop.")
    else:
        show_losses(layers, console)
