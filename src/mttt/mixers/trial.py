"""Refusing what cannot become a TTT layer, when it is built: before jit, vmap and scan make the reason hard to find."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mttt.inner import NonParametric, OptaxOptimizer, Optimizer
from mttt.inner.learner import WrongAnswers, answers_of
from mttt.nn.check import check_instance

TOKENS = 3  # of the trial


def check_maker(name: str, given: Any, parameters: str, each: str = "head") -> None:
    """`given` is a class or a function, not something that was made already."""
    if isinstance(given, eqx.Module) or not callable(given):
        kind = type(given).__name__
        raise TypeError(
            f"{name} is an instance of {kind}; expected a class or a function of ({parameters}): every {each} gets one"
        )


def check_made(name: str, made: Any, kind: type) -> Any:
    """What a maker made, if it is of the kind."""
    if not isinstance(made, kind):
        raise TypeError(f"the maker given as {name} made a {type(made).__name__}; expected a {kind.__name__}")
    return made


def check_learner(learner: Any, width: int) -> Any:
    """The learner, if it maps (n, k) to (n, k)."""
    if isinstance(learner, NonParametric):
        return learner
    name = type(learner).__name__
    rows = jax.ShapeDtypeStruct((TOKENS, width), jnp.zeros(0).dtype)
    try:
        eqx.filter_eval_shape(answers_of, learner, rows)
    except WrongAnswers as error:  # the number of tokens is that of the trial only
        raise WrongAnswers(str(error).replace(f"({TOKENS}, ", "(n, ")) from None
    except Exception as error:
        raise TypeError(
            f"the learner {name} was called as learner(inputs, key=None) on tokens of shape (n, {width}), and "
            f"failed. It has to answer each of the n tokens with {width} numbers. The reason: {_first_line(error)}"
        ) from error
    return learner


def check_optimizer(optimizer: Any) -> None:
    """`optimizer` is an update rule, whose numbers are one for all steps where it is Optax's."""
    check_instance("optimizer", optimizer, Optimizer, "GradientDescent(0.5)")
    for name, value in optimizer.hyperparameters.items() if isinstance(optimizer, OptaxOptimizer) else ():
        if isinstance(value, jax.Array) and value.ndim:
            raise ValueError(
                f"{name} of shape {value.shape}: OptaxOptimizer takes one number for all steps; one for each step is "
                "GradientDescent(rates)"
            )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
