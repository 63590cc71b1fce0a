"""Inputs of several lengths, padded to one of a few."""

import jaxtyping
import numpy as np
import pytest

from mttt.data import bucket, pad_to_bucket

LENGTHS = (4, 8, 16)


def test_the_next_length_is_taken():
    assert [bucket(n, LENGTHS) for n in (1, 4, 5, 8, 16)] == [4, 4, 8, 8, 16]
    assert bucket(5, (16, 8, 4)) == 8, "in any order"
    with pytest.raises(ValueError, match=r"n=17 tokens; the longest of the lengths is 16. Add one of at least 17"):
        bucket(17, LENGTHS)


def test_inputs_are_padded_and_masked():
    inputs = [np.full((n, 3), float(n), np.float32) for n in (2, 5, 1)]
    tokens, mask = pad_to_bucket(inputs, LENGTHS)
    assert tokens.shape == (3, 8, 3) and tokens.dtype == np.float32
    np.testing.assert_array_equal(mask.sum(axis=1), [2, 5, 1])
    for row, each in enumerate(inputs):
        np.testing.assert_array_equal(tokens[row][mask[row]], each)
        assert not tokens[row][~mask[row]].any()
    with pytest.raises(ValueError, match="no inputs to pad"):
        pad_to_bucket([], LENGTHS)
    mixed = pad_to_bucket([np.ones((1, 2), np.int32), np.full((2, 2), 0.5)], LENGTHS)
    assert mixed.tokens[1, 0, 0] == 0.5, "no input loses its fractions to another's dtype"
    with pytest.raises(ValueError, match=r"tokens of the shapes \(1,\), \(4,\): expected one shape"):
        pad_to_bucket([np.ones((3, 4)), np.ones((3, 1))], LENGTHS)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: bucket(3, [0.5]), "lengths: 0.5 came; expected whole numbers"),
        (lambda: bucket("3", [4]), "n: '3' came"),
        (lambda: bucket(3, np.asarray([4.0])), "expected whole numbers"),
        (lambda: pad_to_bucket([3], LENGTHS), "an input of type int; expected arrays"),
        (lambda: pad_to_bucket([np.ones(())], LENGTHS), "expected arrays of shape"),
    ],
)
def test_what_cannot_be_padded_is_refused(call, reason, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(TypeError, match=reason):
        call()
