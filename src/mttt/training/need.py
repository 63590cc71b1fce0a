"""How much memory a model takes, at least.

On a CPU nobody says no to a program that takes too much: the system stops it, or all else. What is counted here has to
be there at one time whatever the compiler does, so nothing that could run is refused.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jax.extend.core import ClosedJaxpr, Jaxpr
from jax.interpreters import partial_eval

from mttt.nn import trainable
from mttt.training.memory import memory_limit

_SHOWN = ("parameters", "optimizer", "gradient", "activations")


class NotEnoughMemory(ValueError):
    """A model that takes more memory than there is. `cure` has fields of the recipe and values that may help."""

    def __init__(self, reason: str, cure: Mapping[str, int], effect: str):
        self.reason, self.cure, self.effect = reason, cure, effect
        super().__init__(self.sentence(lambda path, value: f"{path}={value}"))

    def sentence(self, spell: Callable[[str, int], str]) -> str:
        """The whole, with fields as the reader spells them."""
        cure = " ".join(map(spell, self.cure, self.cure.values()))
        return f"{self.reason}; with {cure} it {self.effect}" if cure else f"{self.reason}; {self.effect}"


class Need(NamedTuple):
    """Bytes that are there at one time, at least."""

    parameters: int = 0
    optimizer: int = 0
    gradient: int = 0
    activations: int = 0

    @property
    def bytes(self) -> int:
        """Activations are gone when the gradient is complete, so only the larger of both counts."""
        return self.parameters + self.optimizer + max(self.gradient, self.activations)

    def of_part(self, part: float) -> "Need":
        """With a part of the activations."""
        return self._replace(activations=int(self.activations * part))

    def fits(self, times: int = 1) -> bool:
        """Is there so many times as much memory, as far as is known?"""
        have = memory_limit()
        return have is None or times * self.bytes <= have

    def check(self, cure: Mapping[str, int] | None = None, then: "Need | None" = None) -> None:
        """Refuse it if there is not so much memory. `cure` are values of the recipe, and `then` what it takes then."""
        if self.fits():
            return
        have = memory_limit()
        assert have is not None
        parts = ", ".join(f"{name} {_words(value)}" for name in _SHOWN if (value := getattr(self, name)))
        reason = f"the model takes at least {_words(self.bytes)} of memory ({parts}), and there are {_words(have)}"
        if cure and then is not None:
            raise NotEnoughMemory(reason, cure, f"takes at least {_words(then.bytes)}")
        general = (
            "take a smaller dim or depth, fewer tokens (smaller images, larger patches, a shorter context) or fewer "
            "examples at a time (outer.accumulate, batch_size)"
        )
        raise NotEnoughMemory(reason, {}, general)


def largest(needs: Iterable[Need], times: int = 1) -> Need:
    """The first that does not fit, or the last: what is too large is not looked at more closely."""
    need = Need()
    for need in needs:
        if not need.fits(times):
            break
    return need


def _words(amount: int) -> str:
    power = min(max(amount.bit_length() - 1, 0) // 10, 6)
    return f"{amount / 1024**power:,.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')[power]}"


def bytes_of(tree: Any) -> int:
    """Of all arrays in it, or of arrays of its shapes."""
    arrays = [leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype") and hasattr(leaf, "shape")]
    return sum(math.prod(array.shape) * array.dtype.itemsize for array in arrays)


class Footprint(NamedTuple):
    """What a function makes on the way to its result, in bytes."""

    product: int
    """the largest result of a product of matrices: it is written to memory, which others may never be as a whole"""
    together: int
    """all results of all operations"""


def footprint(function: Callable[..., Any], *arguments: Any) -> Footprint:
    """What a function of arrays, or of their shapes, makes. It is traced, not run."""
    closed, _, _ = eqx.filter_make_jaxpr(function)(*arguments)
    needed, _ = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    return _footprint(needed)


def _footprint(jaxpr: Jaxpr) -> Footprint:
    product, together = 0, 0
    for equation in jaxpr.eqns:
        results = bytes_of([each.aval for each in equation.outvars])
        together += results
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            left = equation.invars[0].aval.shape  # pyright: ignore
            if math.prod(left[axis] for axis in contracted) > 1:  # without a sum it is no more than element by element
                product = max(product, results)
        for inside in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program):
            if _is_program(inside):
                within = _footprint(inside.jaxpr if isinstance(inside, ClosedJaxpr) else inside)
                product = max(product, within.product)
                together += within.together * equation.params.get("length", 1)
    return Footprint(product, together)


def _is_program(value: Any) -> bool:
    return isinstance(value, Jaxpr | ClosedJaxpr)


def kept_by(stack: Any, run: Callable[[Any, Any], Any], tokens: Any) -> int:
    """Bytes that the backward pass of `run(stack, tokens)` gets from the forward pass, besides parameters.

    The blocks of a stack are a loop, and what one loop hands to another is written to memory.
    """

    def backward(stack: Any, tokens: Any) -> Any:
        params, rest = eqx.partition(stack, trainable(stack))
        return jax.vjp(lambda params: run(eqx.combine(params, rest), tokens), params)[1]

    return max(0, bytes_of(eqx.filter_eval_shape(backward, stack, tokens)) - trained_bytes(stack))


def trained_bytes(model: Any) -> int:
    """Of the parameters that have a gradient."""
    return bytes_of(eqx.filter_eval_shape(lambda model: eqx.filter(model, trainable(model)), model))
