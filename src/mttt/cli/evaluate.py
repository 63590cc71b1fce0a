"""mttt evaluate"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import tyro
from rich.console import Console
from rich.table import Table

from mttt.cli.arguments import UsageError, refusing
from mttt.data import EvaluationBatches
from mttt.mixers import has_inner_loop, with_inner_loop
from mttt.outer import evaluate, self_check
from mttt.recipes import load, load_data
from mttt.recipes.ttt import TTTRecipe
from mttt.runs import Run


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
        run = Run.open(arguments.run)
        data = load_data(run)
        recipe, spec, model = load(run)
    self_check()
    changes = arguments.steps is not None or arguments.rate is not None
    if changes and not has_inner_loop(model):
        raise UsageError(f"{arguments.run} has no inner loop: --steps and --rate change nothing in it")
    with refusing():
        optimizer = None
        if arguments.rate is not None and isinstance(recipe.model.mixer, TTTRecipe):
            optimizer = recipe.model.mixer.optimizer_at(arguments.rate)
        model = with_inner_loop(model, steps=arguments.steps, optimizer=optimizer)
        image = jax.ShapeDtypeStruct(spec.inputs.shape, jnp.float32)
        eqx.filter_eval_shape(lambda model, image: model(image), model, image)  # more mini-batches than tokens?
    batches = EvaluationBatches(data.evaluation, recipe.evaluation_batch_size)
    result = evaluate(model, batches, dtype=jnp.dtype(recipe.dtype))
    layers = result.per_layer()
    if not math.isfinite(result.loss):
        raise UsageError("the inner loop diverged: the loss is not finite; take fewer steps or a lower rate")
    if arguments.json:
        fields = {"accuracy": result.accuracy, "loss": result.loss, "images": result.images, "inner_losses": layers}
        fields["skipped"] = [problem._asdict() for problem in result.problems]
        print(json.dumps(fields))
        return 0
    console.print(
        f"accuracy {result.accuracy:.2%}  loss {result.loss:.4f}  on {result.images} {data.evaluation_name} images",
        highlight=False,
    )
    for name, reason in result.problems:
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
