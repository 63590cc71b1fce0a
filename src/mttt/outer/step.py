"""One step of the outer loop."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from mttt.outer.objective import Objective
from mttt.outer.rule import Rule
from mttt.outer.state import NEVER, State


def train_step(state: State, batch: Any, *, objective: Objective, rule: Rule) -> State:
    """Change the model by the rule, and remember how it did. The step's randomness is a function of key and number."""
    key = jax.random.fold_in(state.key, state.step)
    model, rule_state, score, finite = rule.step(objective, state.model, state.rule_state, batch, key)
    broken = jnp.where((state.broken == NEVER) & ~finite, state.step + 1, state.broken)
    totals = jax.tree.map(jnp.add, state.totals, score)
    return eqx.tree_at(
        lambda s: (s.model, s.rule_state, s.step, s.totals, s.broken),
        state,
        (model, rule_state, state.step + 1, totals, broken),
    )


def _is_array(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


class Program:
    """`train_step`, jitted. It reuses the memory of the state that it is given: that one is gone afterwards."""

    def __init__(self, like: State, *, objective: Objective, rule: Rule, shardings: Any = None):
        """`like` is a state, or one of shapes. `shardings` say where its arrays are, and stay."""
        arrays, self._rest = eqx.partition(like, _is_array)
        shape = lambda a, *sharding: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=next(iter(sharding), None))  # noqa: E731
        self._shapes = jax.tree.map(shape, arrays, *(() if shardings is None else (shardings,)))
        step = partial(train_step, objective=objective, rule=rule)

        @partial(jax.jit, donate_argnums=0, **({} if shardings is None else {"out_shardings": (shardings, None)}))
        def run(arrays: Any, batch: Any) -> tuple[Any, Array]:
            new = step(eqx.combine(arrays, self._rest), batch)
            return eqx.filter(new, eqx.is_array), new.step

        self._run = run

    def __call__(self, state: State, batch: Any) -> tuple[State, Array]:
        """The next state, and a number that is there when the step is done."""
        arrays, done = self._run(eqx.filter(state, eqx.is_array), batch)
        return eqx.combine(arrays, self._rest), done

    def lower(self, batch: Any) -> Any:
        """The program for a batch, or for shapes of one; from arrays of a state to arrays of the next, and `done`."""
        return self._run.lower(self._shapes, batch)
