"""From a recipe to a run, and from a run back to a model."""

import os
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from mttt.data import DataSet, Source, Spec, Subset, describe, training_batches
from mttt.data.pictures import Arrays
from mttt.fields import differences
from mttt.models import ViT
from mttt.outer import Evaluation, Observer, Plan, State, Training, self_check, train
from mttt.recipes.codec import recipe_of
from mttt.recipes.recipe import Recipe
from mttt.runs import Run


def initial_state(recipe: Recipe, spec: Spec, plan: Plan) -> State:
    """The state before the first step, a function of the recipe alone."""

    def make(key: PRNGKeyArray) -> State:
        model_key, state_key = jax.random.split(key)
        optimizer, _ = recipe.build_optimizer(plan)
        return State(recipe.model.build(spec, key=model_key), optimizer, key=state_key)

    return eqx.filter_jit(make)(jax.random.key(recipe.seed))


def launch(recipe: Recipe, data: DataSet, run: Run, observer: Observer, *, workers: int = 0) -> Evaluation:
    """Train a run to its end, from where it is, and write its result. `workers` processes prepare the images."""
    self_check()
    plan = recipe.plan(len(data.train))
    optimizer, rate = recipe.build_optimizer(plan)
    training = Training(optimizer, rate, data, plan, run, observer)
    with training_batches(data.train, plan.batch_size, seed=recipe.seed, workers=workers) as batches:
        evaluation = train(training, initial_state(recipe, data.spec, plan), batches)
    run.finish(
        {
            "step": plan.steps,
            "accuracy": evaluation.accuracy,
            "loss": evaluation.loss,
            "inner_losses": evaluation.per_layer(),
            "images": evaluation.images,
            "skipped": len(run.metrics.read("skipped")),
        }
    )
    return evaluation


def default_workers(data: DataSet) -> int:
    """Half the processors, if there is something to decode."""
    return 0 if _in_memory(data.train.source) else max(1, len(os.sched_getaffinity(0)) // 2)


def _in_memory(source: Source[Any]) -> bool:
    return _in_memory(source.source) if isinstance(source, Subset) else isinstance(source, Arrays)


def check_data(run: Run, data: DataSet) -> None:
    """Refuse other data than the run began with: labels may mean something else, and test images be known."""
    if run.data is not None and (changed := differences(run.data, describe(data))):
        raise ValueError(
            f"the data of {run.path} are not what they were when it began, so its numbers would mean nothing:\n  "
            + "\n  ".join(map(str, changed))
        )


def load_data(run: Run) -> DataSet:
    """The data of a run, from where they were when it began; others are refused."""
    data = recipe_of(run).data.load()
    check_data(run, data)
    return data


def load(run: Run, *, data: DataSet | None = None) -> tuple[Recipe, Spec, ViT]:
    """The recipe, what it knows of its data, and the model of a run's newest checkpoint.

    The data may be gone; if they are given, other data than the run's are refused.
    """
    recipe: Recipe = recipe_of(run)
    if data is not None:
        check_data(run, data)
    record = run.data or describe(load_data(run) if data is None else data)
    spec, examples = Spec.from_json(record["spec"]), record["train"]["examples"]
    like = initial_state(recipe, spec, recipe.plan(examples))
    with run.checkpoints() as checkpoints:
        step = checkpoints.latest()
        if step is None:
            raise run.no_checkpoint()
        state, _ = checkpoints.restore(step, like)
    return recipe, spec, state.model
