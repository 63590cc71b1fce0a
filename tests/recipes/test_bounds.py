"""Every number of a recipe has bounds, and says which one was crossed."""

from dataclasses import is_dataclass

import pytest

from mttt.fields import FieldError
from mttt.fields.kinds import alternatives, typed_fields
from mttt.recipes import Recipe

NEGATIVE = {("FixedRateRecipe", "rate")}  # ascent, a control experiment
WRONG = {
    int: [2**63, 10**400, -(2**63)],
    float: [1e308, float(2**63), float("nan"), float("inf"), float("-inf"), -1e308],
}


def structures(structure):
    """A dataclass, and all that its fields can hold."""
    found = {structure}
    for hint in typed_fields(structure).values():
        for one in alternatives(hint):
            if isinstance(one, type) and is_dataclass(one):
                found |= structures(one)
    return found


NUMBERS = sorted(
    (
        (structure, name, kind)
        for structure in structures(Recipe)
        for name, hint in typed_fields(structure).items()
        for kind in {int, float} & set(alternatives(hint))
    ),
    key=str,
)


@pytest.mark.parametrize(("structure", "name", "kind"), NUMBERS, ids=lambda one: getattr(one, "__name__", one))
def test_every_number_has_bounds(structure, name, kind):
    few = [] if (structure.__name__, name) in NEGATIVE else [kind(-1)]
    for value in WRONG[kind] + few:
        with pytest.raises(FieldError, match="must be") as refused:
            structure(**{name: value})
        assert refused.value.path == name and refused.value.value is value


def test_the_numbers_are_found():
    names = {name for _, name, _ in NUMBERS}
    assert len(NUMBERS) > 40 and {"dim", "size", "holdout", "rate", "order", "evaluate_every", "steps"} <= names


def test_the_bounds_are_far_away():
    """From all that is trained here, and from more: a wide, deep model, many steps."""
    largest = {"dim": 2**16, "depth": 2**10, "epochs": 1e6, "batch_size": 2**20, "evaluate_every": 1e9, "clip": 1e9}
    for structure, name, _ in NUMBERS:
        if name in largest:
            structure(**{name: largest[name]})
