"""Texts on disk, windows of them, and what cannot be learned from."""

import os
import pickle

import numpy as np
import pytest

from mttt.data import BadData, EvaluationBatches, View, describe, training_batches
from mttt.data.text import Letters, TextFiles, find_text, inspect_text, shakespeare, split_text

TEXT = bytes(range(1, 256)) * 3


def numbered(size):
    """Bytes that say where they are."""
    return Letters(bytes(place % 251 + 1 for place in range(size)), "numbers")


def test_the_shipped_text_is_the_one_that_is_attributed():
    text = shakespeare()
    assert len(text) == 1_115_394
    assert text.digest == "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    assert text.read(0, 13).tobytes() == b"First Citizen"


def test_files_are_one_text(tmp_path):
    rng, whole, paths = np.random.default_rng(0), b"", []
    for number, size in enumerate((7, 0, 1, 30)):
        part = rng.integers(32, 127, size).astype(np.uint8).tobytes()
        (tmp_path / f"{number}.txt").write_bytes(part)
        paths.append(tmp_path / f"{number}.txt")
        whole += part
    text = pickle.loads(pickle.dumps(TextFiles(paths, "these")))
    assert len(text) == len(whole)
    for begin in range(len(whole)):
        for end in range(begin + 1, len(whole) + 1):
            assert text.read(begin, end).tobytes() == whole[begin:end]
    assert text.digest == Letters(whole, "").digest
    paths[3].write_bytes(b"short")
    view = split_text(text, context=2, holdout=0.2).evaluation
    assert "3.txt: is shorter than it was" in str(view.example(0, np.random.default_rng(0)))


def test_a_folder_is_its_text_files_by_name(tmp_path):
    (tmp_path / "b").mkdir()
    for name, text in {"b/1.MD": "one ", "c.txt": "two", "a.py": "no", "b/z.jpg": "\0"}.items():
        (tmp_path / name).write_text(text)
    found = find_text(str(tmp_path))
    assert found.text.read(0, len(found.text)).tobytes() == b"one two"
    assert found.ignored == ("a.py", "b/z.jpg")
    both = find_text(os.pathsep.join((str(tmp_path / "a.py"), str(tmp_path / "c.txt"))))
    assert both.text.read(0, len(both.text)).tobytes() == b"notwo"


def test_training_windows_begin_anywhere_and_evaluation_windows_cover():
    size, context = 1000, 8
    data = split_text(numbered(size), context=context)
    assert isinstance(data.train, View)
    assert (len(data.train), len(data.evaluation)) == (899 // context, 99 // context)
    seen = np.zeros(900, int)
    rng = np.random.default_rng(0)
    for _ in range(400):
        for index in range(len(data.train)):
            window = data.train.example(index, rng).inputs.astype(int)
            assert window.shape == (context + 1,)
            place = next(p for p in range(window[0] - 1, 900, 251) if abs(p - index * 892 / 112) < 9)
            np.testing.assert_array_equal(window - 1, np.arange(place, place + context + 1) % 251)
            seen[place] += 1
    assert not seen[892:].any()
    assert seen[:892].min() > 20 and seen[:892].max() < 85  # 50 are expected
    held = [data.evaluation.example(i, rng).inputs for i in range(len(data.evaluation))]
    targets = np.concatenate([window[1:] for window in held])
    np.testing.assert_array_equal(targets, np.arange(901, 901 + 12 * 8) % 251 + 1)


def test_batches_of_a_text_are_the_same_from_any_position_and_in_any_process():
    data = split_text(numbered(2000), context=16)
    with training_batches(data.train, 6, seed=3) as batches:
        first = [next(batches) for _ in range(3)]
        position = batches.get_state()
        rest = [next(batches) for _ in range(30)]  # into the second epoch
    with training_batches(data.train, 6, seed=3) as batches:
        batches.set_state(position)
        for expected in rest:
            np.testing.assert_array_equal(next(batches).inputs, expected.inputs)
    with training_batches(data.train, 6, seed=3, rows=range(2, 4)) as batches:
        for expected in first:
            np.testing.assert_array_equal(next(batches).inputs, expected.inputs[2:4])
    total = sum(float(np.sum(batch.weights)) for batch in EvaluationBatches(data.evaluation, 5))
    assert total == len(data.evaluation)


def test_a_run_knows_its_text():
    one, same, other = (split_text(Letters(text, "x"), context=4) for text in (TEXT, TEXT, TEXT[:-1] + b"!"))
    assert describe(one) == describe(same) != describe(other)
    assert describe(one) != describe(split_text(Letters(TEXT, "x"), context=4, holdout=0.2))
    assert describe(one)["spec"]["inputs"] == {"shape": [5], "dtype": "uint8"}


@pytest.mark.parametrize(
    ("files", "path", "says"),
    [
        ({"a.txt": b""}, "a.txt", "a.txt is empty"),
        ({"a.png": b"x"}, "", "has no text: no file in it ends with .txt"),
        ({"a.txt": b"abc\0def"}, "a.txt", "a.txt is not text: byte 3 is 0"),
        ({"a.txt": b"ok", "b.md": b"\x01\x02\x03ab"}, "", "b.md is not text: 60% of its bytes are control codes"),
        ({}, "none.txt", "none.txt cannot be read"),
    ],
)
def test_what_is_no_text_is_refused_by_name(files, path, says, tmp_path):
    for name, contents in files.items():
        (tmp_path / name).write_bytes(contents)
    with pytest.raises(BadData, match=says):
        find_text(str(tmp_path / path))


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(BadData, match="named pipe"):
        find_text(str(tmp_path / "a.txt"))


@pytest.mark.parametrize(
    ("size", "options", "says"),
    [
        (
            40,
            {"context": 64},
            "context=64: .* 40 bytes, of which 36 would be there to train on. Take a context below 4",
        ),
        (100, {"context": 20}, "of which 10 would be there to evaluate on.* hold more out"),
        (1, {"context": 1}, "Add text"),
        (100, {"context": 0}, "context=0"),
        (100, {"context": 4, "holdout": 0.0}, "holdout=0.0"),
        (100, {"context": 4, "holdout": 1.0}, "holdout=1.0"),
    ],
)
def test_a_text_that_is_too_short_for_its_context_is_refused(size, options, says):
    with pytest.raises(ValueError, match=says):
        split_text(numbered(size), **options)


def test_inspection(tmp_path):
    (tmp_path / "a.txt").write_text("aab\nä" * 100)
    seen = inspect_text(find_text(str(tmp_path)))
    assert (seen.size, seen.lines, seen.encoding, seen.held_out) == (600, 100, "UTF-8", 60)
    assert next(iter(seen.counts.items())) == ("a", 200)
    assert seen.bits == pytest.approx(-(1 / 3) * np.log2(1 / 3) - 4 / 6 * np.log2(1 / 6))
    assert seen.held_out_begins.startswith("aab\nä")
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 " * 9)
    assert inspect_text(find_text(str(tmp_path))).encoding == "not UTF-8"
