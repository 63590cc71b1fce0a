"""From a recipe to everything that a training is made of, each built once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray

from mttt.data import BadData, DataSet, EvaluationBatches, Spec
from mttt.data.pictures import to_float
from mttt.outer import (
    Classification,
    Evaluation,
    Mixup,
    NothingToEvaluate,
    Objective,
    Plan,
    Program,
    Rule,
    State,
    evaluate,
)
from mttt.recipes import Recipe


@dataclass(frozen=True)
class Prepared:
    """A training before its first step. It has no data: a model can be built and loaded where they are not."""

    recipe: Recipe
    spec: Spec
    plan: Plan
    read: Callable[[Any], Any]
    """inputs as they are stored, of one example or of a batch, to what the model computes with"""
    objective: Objective
    rule: Rule
    rate: optax.Schedule
    """of the rule's optimizer, step by step"""
    model: Callable[[PRNGKeyArray], Any]
    """a new model"""

    def state(self) -> State:
        """The state before the first step, a function of the recipe alone."""
        return eqx.filter_jit(self._state)(jax.random.key(self.recipe.seed))

    def shapes(self) -> State:
        """The same with shapes in the place of arrays; nothing is computed."""
        return eqx.filter_eval_shape(self._state, jax.random.key(0))

    def _state(self, key: PRNGKeyArray) -> State:
        model_key, state_key = jax.random.split(key)
        return State(self.model(model_key), self.rule, key=state_key)

    def program(self) -> Program:
        """One step of the training, to be compiled."""
        return Program(self.shapes(), objective=self.objective, rule=self.rule)

    def check(self, model: Any = None) -> None:
        """Raise a ValueError with the reason if the model, or one that is given, cannot run; nothing is computed."""
        model = self.shapes().model if model is None else model
        trace = lambda model, inputs: model.trace(self.read(inputs), key=jax.random.key(0))  # noqa: E731
        eqx.filter_eval_shape(trace, model, self.spec.inputs)

    def evaluation_batches(self, data: DataSet) -> EvaluationBatches:
        """All that a model is judged by."""
        return EvaluationBatches(data.evaluation, self.recipe.evaluation_batch_size)

    def evaluate(self, model: Any, batches: EvaluationBatches) -> Evaluation:
        """How a model does. What had to be left out is in `batches.skipped` afterwards."""
        try:
            return evaluate(model, batches, objective=self.objective)
        except NothingToEvaluate as error:
            why = "".join(f"; {name}: {reason}" for name, reason in batches.skipped[:1])
            raise BadData(f"there is no example to evaluate on{why}") from error


def prepare(recipe: Recipe, data: DataSet) -> Prepared:
    """Everything that a training of a recipe on these data is made of."""
    return prepare_for(recipe, data.spec, len(data.train))


def prepare_for(recipe: Recipe, spec: Spec, examples: int) -> Prepared:
    """The same where the data are not: from what a run keeps of them."""
    plan = recipe.plan(examples)
    optimizer, rate = recipe.optimizer.build(plan.steps)
    read = partial(to_float, dtype=jnp.dtype(recipe.dtype))
    plain = Classification(read)
    return Prepared(
        recipe,
        spec,
        plan,
        read,
        objective=Mixup(plain, recipe.mixup) if recipe.mixup else plain,
        rule=recipe.outer.build(optimizer),
        rate=rate,
        model=lambda key: recipe.model.build(spec, key=key),
    )
