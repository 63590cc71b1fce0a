"""mttt predict"""

import json
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import tyro
from rich.console import Console

from mttt.cli.arguments import UsageError, refusing
from mttt.data.pictures import load_picture
from mttt.outer import self_check
from mttt.recipes.data import fit_picture
from mttt.training import load


@dataclass(frozen=True)
class Arguments:
    """Classify pictures with a trained model."""

    run: tyro.conf.Positional[Path]
    """directory of the run"""
    images: tyro.conf.Positional[tuple[Path, ...]]
    """image files, in any format that Pillow reads"""
    top: int = 3
    """how many classes to print"""
    invert: bool = False
    """swap dark and light first: the digits are light on dark, a scan is dark on light"""
    json: bool = False
    """print JSON"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = tyro.cli(Arguments, args=words, prog="mttt predict")
    if not arguments.images:
        raise UsageError("no image was given: mttt predict RUN IMAGE …")
    if arguments.top < 1:
        raise UsageError(f"top={arguments.top}: must be 1 or more")
    with refusing():
        loaded = load(arguments.run)
        shape = loaded.spec.inputs.shape
        fit = fit_picture(loaded.recipe.data, shape)
        pictures = [load_picture(path, fit, shape, invert=arguments.invert) for path in arguments.images]
    self_check()
    classify = jax.jit(lambda image: jax.nn.softmax(loaded.model(loaded.read(image))))
    answers = []
    for path, picture in zip(arguments.images, pictures, strict=True):
        probabilities = np.asarray(classify(picture))
        order = np.argsort(-probabilities)[: arguments.top]
        answers.append({"image": str(path), "top": [[loaded.classes[i], float(probabilities[i])] for i in order]})
    if arguments.json:
        print(json.dumps(answers))
        return 0
    for answer in answers:
        classes = "  ".join(f"{name} {probability:.1%}" for name, probability in answer["top"])
        console.print(f"{answer['image']}: {classes}", highlight=False, soft_wrap=True, markup=False)
    return 0
