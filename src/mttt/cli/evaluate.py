"""mttt evaluate"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from mttt.cli.arguments import UsageError, refusing
from mttt.mixers import has_inner_loop, with_inner_loop
from mttt.outer import self_check
from mttt.recipes.ttt import TTTRecipe
from mttt.runs import Run
from mttt.training import load, load_data


@dataclass(frozen=True)
class Arguments:
    """Evaluate a trained model, with as many inner steps as you like. The model does not change."""

    run: tyro.conf.Positional[Path]
    """directory of the run"""
    steps: int | None = None
    """T, the number of inner steps, instead of the one it was trained with; 0 is no learning at test time"""
    rate: float | None = None
    """a fixed inner rate η instead of the one it was trained with"""
    json: bool = False
    """print JSON: accuracy, loss, inner_losses as [layer][t]"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = tyro.cli(Arguments, args=words, prog="mttt evaluate")
    with refusing():
        data = load_data(Run.open(arguments.run))
        loaded = load(arguments.run)
    model, prepared, mixer = loaded.model, loaded.prepared, loaded.recipe.model.mixer
    self_check()
    changes = arguments.steps is not None or arguments.rate is not None
    if changes and not has_inner_loop(model):
        raise UsageError(f"{arguments.run} has no inner loop: --steps and --rate change nothing in it")
    with refusing():
        optimizer = None
        if arguments.rate is not None and isinstance(mixer, TTTRecipe):
            optimizer = mixer.optimizer_at(arguments.rate)
        model = with_inner_loop(model, steps=arguments.steps, optimizer=optimizer)
        prepared.check(model)  # more mini-batches than tokens?
    batches = prepared.evaluation_batches(data)
    result = prepared.evaluate(model, batches)
    layers = result.per_layer()
    if not math.isfinite(result.loss):
        raise UsageError("the inner loop diverged: the loss is not finite; take fewer steps or a lower rate")
    if arguments.json:
        fields = result.record()
        fields["skipped"] = [example._asdict() for example in batches.skipped]
        print(json.dumps(fields))
        return 0
    console.print(
        f"accuracy {result.accuracy:.2%}  loss {result.loss:.4f}  on {result.examples} {data.evaluation_name} images",
        highlight=False,
    )
    for name, reason in batches.skipped:
        console.print(f"skipped {name}: {reason}", highlight=False, markup=False, soft_wrap=True)
    if layers is None:
        console.print("This mixer has no inner loop.")
        return 0
    table = Table(title="Inner loss: half the squared error of a token's reconstruction, mean over tokens and features")
    table.add_column("layer", justify="right")
    for t in range(len(layers[0])):
        table.add_column(f"t = {t}", justify="right")
    for number, losses in enumerate(layers, start=1):
        table.add_row(str(number), *(f"{loss:.4f}" for loss in losses))
    console.print(table)
    return 0
