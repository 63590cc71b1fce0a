"""From a recipe to everything that a training is made of, each built once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray

from mttt.data import BadData, Batch, DataSet, EvaluationBatches, Spec, View
from mttt.devices import Placement
from mttt.outer import (
    Evaluation,
    NothingToEvaluate,
    Objective,
    Plan,
    Program,
    Rule,
    State,
    evaluate,
)
from mttt.recipes import Recipe
from mttt.training.need import Need, bytes_of, footprint, kept_by, largest, trained_bytes

_SPARE = 2
"""times as much memory as is found to be needed is a fair guess of what the compiler takes"""


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
    placement: Placement | None = None
    """the devices that it runs on; None is one, as JAX chooses it"""

    def on(self, placement: Placement) -> "Prepared":
        """The same on other devices."""
        placement.check(self.recipe.batch_size, self.recipe.model.tokens(self.spec), self.recipe.outer.parts)
        return replace(self, placement=placement)

    def state(self) -> State:
        """The state before the first step, a function of the recipe alone."""
        key = jax.random.key(self.recipe.seed)
        if self.placement is None:
            return eqx.filter_jit(self._state)(key)
        make = jax.jit(lambda key: eqx.filter(self._state(key), eqx.is_array), out_shardings=self._shardings())
        _, rest = eqx.partition(self.shapes(), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
        with self.placement():
            return eqx.combine(make(key), rest)

    def _shardings(self) -> Any:
        """Where the arrays of a state are."""
        shapes = eqx.filter(self.shapes(), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
        return None if self.placement is None else self.placement.of_state(shapes)

    def shapes(self) -> State:
        """The same with shapes in the place of arrays; nothing is computed."""
        return eqx.filter_eval_shape(self._state, jax.random.key(0))

    def _state(self, key: PRNGKeyArray) -> State:
        model_key, state_key = jax.random.split(key)
        return State(self.model(model_key), self.rule, key=state_key)

    def program(self) -> Program:
        """One step of the training, to be compiled."""
        return Program(self.shapes(), objective=self.objective, rule=self.rule, shardings=self._shardings())

    def check(self) -> None:
        """Raise a ValueError with the reason if the training cannot run, or needs more memory than there is.

        Nothing is computed, and what is too large is not looked at more closely.
        """
        outer, size = self.recipe.outer, self.recipe.batch_size
        need = largest(self.needs(size // outer.parts))
        if need.fits():
            return
        seen, parts_then = need, outer.parts
        for parts in (parts for parts in range(outer.parts + 1, size + 1) if outer.keeps and size % parts == 0):
            # Most numbers of parts are out of the question after what was seen; only the others are looked at closely.
            if seen.of_part(parts_then / parts).fits(_SPARE):
                seen, parts_then = largest(self.needs(size // parts), _SPARE), parts
                if seen.fits(_SPARE):
                    need.check({"outer.accumulate": parts}, seen)
        need.check()

    def needs(self, rows: int) -> Iterator[Need]:
        """What so many examples at a time take at least, ever more closely; the later ones take longer to find out.

        That is on one of several devices, if it has memory of its own.
        """
        share = 1.0 if self.placement is None else self.placement.memory_share()
        kept = share if self.placement is not None and self.placement.sharded else 1.0
        for need in self._needs(rows):
            parts = (int(need.parameters * kept), int(need.optimizer * kept), int(need.gradient * kept))
            yield Need(*parts, int(need.activations * share))

    def _needs(self, rows: int) -> Iterator[Need]:
        outer, key, depth = self.recipe.outer, jax.random.key(0), self.recipe.model.sizes().depth
        state, stream = self.shapes(), bytes_of(self._stream(rows)) * (depth if self.recipe.outer.keeps else 1)
        need = Need(bytes_of(state.model), bytes_of(state.rule_state), trained_bytes(state.model), stream)
        yield need
        predict = lambda model, inputs: jax.vmap(lambda row: model(row, key=key))(self.read(inputs))  # noqa: E731
        made = footprint(predict, state.model, self._inputs(rows))
        need = need._replace(activations=max(stream, made.product))
        yield need
        # What is kept takes another second to find out. It is never much more than all that was made.
        if outer.keeps and depth > 1 and not need._replace(activations=4 * made.together).fits():
            mix = lambda stack, tokens: jax.vmap(lambda row: stack(row, key=key).tokens)(tokens)  # noqa: E731
            kept = kept_by(state.model.stack, mix, self._stream(rows))
            yield need._replace(activations=max(need.activations, kept))

    def check_evaluation(self, model: Any, rows: int) -> None:
        """The same for the evaluation of a model on so many examples at a time."""
        Need(bytes_of(model), activations=bytes_of(self._stream(rows))).check()
        trace = lambda model, inputs: jax.vmap(model.trace)(self.read(inputs))  # noqa: E731
        Need(bytes_of(model), activations=footprint(trace, model, self._inputs(rows)).product).check()

    def _stream(self, rows: int) -> jax.ShapeDtypeStruct:
        """What goes from block to block."""
        model = self.recipe.model
        shape = (rows, model.tokens(self.spec), model.sizes().dim)
        return jax.ShapeDtypeStruct(shape, jnp.dtype(self.recipe.dtype))

    def _inputs(self, rows: int) -> Any:
        return jax.tree.map(lambda one: jax.ShapeDtypeStruct((rows, *one.shape), one.dtype), self.spec.inputs)

    def evaluation_batches(self, data: DataSet) -> EvaluationBatches:
        """All that a model is judged by."""
        return self.batches_of(data.evaluation)

    def batches_of(self, view: View) -> EvaluationBatches:
        """Other examples to judge a model by."""
        if self.placement is None:
            return EvaluationBatches(view, self.recipe.evaluation_batch_size)
        own, parts = self.placement.own_rows, self.placement.data
        return EvaluationBatches(view, self.recipe.evaluation_batch_size, own=own, parts=parts)

    def evaluate(
        self, model: Any, batches: EvaluationBatches, see: Callable[[int, int], None] = lambda done, total: None
    ) -> Evaluation:
        """How a model does. What had to be left out is in `batches.skipped` afterwards.

        `see` is told how many batches are done, and of how many.
        """
        try:
            if self.placement is None:
                return evaluate(model, _seen(batches, see), objective=self.objective)
            with self.placement():
                put, get = self.placement.put_rows, self.placement.get
                return evaluate(model, _seen(batches, see), objective=self.objective, put=put, get=get)
        except NothingToEvaluate as error:
            why = "".join(f"; {name}: {reason}" for name, reason in batches.skipped[:1])
            raise BadData(f"there is no example to evaluate on{why}") from error


def _seen(batches: EvaluationBatches, see: Callable[[int, int], None]) -> Iterator[Batch]:
    total = -(-len(batches.view) // batches.batch_size)
    for done, batch in enumerate(batches):
        see(done, total)
        yield batch


def prepare(recipe: Recipe, data: DataSet) -> Prepared:
    """Everything that a training of a recipe on these data is made of."""
    return prepare_for(recipe, data.spec, len(data.train))


def prepare_for(recipe: Recipe, spec: Spec, examples: int) -> Prepared:
    """The same where the data are not: from what a run keeps of them."""
    recipe.check()
    plan = recipe.plan(examples)
    optimizer, rate = recipe.optimizer.build(plan.steps)
    read = recipe.data.read(recipe.dtype)
    return Prepared(
        recipe,
        spec,
        plan,
        read,
        objective=recipe.data.objective(read, mixup=recipe.mixup),
        rule=recipe.outer.build(optimizer),
        rate=rate,
        model=lambda key: recipe.model.build(spec, dtype=recipe.dtype, key=key),
    )
