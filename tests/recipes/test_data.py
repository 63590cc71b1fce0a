"""Recipes of data: numbers that cannot be meant, and where to get what is not there."""

import pytest

from mttt.fields import FieldError
from mttt.recipes import data
from mttt.recipes.augment import AugmentRecipe
from mttt.recipes.data import Cifar10Recipe, Cifar100Recipe, FolderRecipe, IdxRecipe


@pytest.mark.parametrize(
    ("make", "field", "reason"),
    [
        (lambda: FolderRecipe(size=80_000), "size", "must be at most 10,000"),
        (lambda: IdxRecipe(size=10**400), "size", "must be at most 10,000"),
        (lambda: Cifar10Recipe(size=0), "size", "must be a finite number above 0"),
        (lambda: FolderRecipe(holdout=float("nan")), "holdout", "must be at least 0 and less than 1"),
        (lambda: AugmentRecipe(operations=10**9), "operations", "must be at most 64"),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused_at_once(make, field, reason):
    with pytest.raises(FieldError) as error:
        make()
    assert (error.value.path, error.value.reason) == (field, reason)
    assert FolderRecipe(size=10_000).size == 10_000


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (IdxRecipe(), ("apt install dataset-fashion-mnist", "train-images-idx3-ubyte.gz", "zalandoresearch")),
        (Cifar10Recipe(), ("cifar-10-binary.tar.gz", "www.cs.toronto.edu")),
        (Cifar100Recipe(path="nowhere"), ("no such file or folder", "cifar-100-binary.tar.gz", "www.cs.toronto.edu")),
    ],
)
def test_what_is_not_there_can_be_got(recipe, words, monkeypatch):
    monkeypatch.setattr(data, "find_fashion_mnist", lambda: None)
    with pytest.raises(FieldError) as error:
        recipe.load()
    assert error.value.path == "data.path" and all(word in error.value.reason for word in words)
