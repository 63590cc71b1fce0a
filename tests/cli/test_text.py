"""Text from the command line: train, stop and continue, evaluate, write; and what cannot be meant."""

import json
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cli.harness import kill_at, metrics, mttt
from mttt.models import Draw, Likeliest, Writer
from mttt.runs import Run
from mttt.training import load

TINY = ["--model.dim", "16", "--model.depth", "1", "--model.heads", "2", "--data.context", "16", "--log-every", "3"]
WORDS = ["train", "--data", "text", "--data.path", "fox.txt", *TINY, "--epochs", "2", "--checkpoint-every", "0.2"]
FOX = "The quick brown fox jumps over the lazy dög.\n" * 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A text, a model that has learned it, and pictures' run beside it."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "fox.txt").write_text(FOX)
    out, _ = mttt(*WORDS, "--run", "run", cwd=folder)
    (folder / "out").write_text(out)
    return folder


def test_training_speaks_of_bytes(folder):
    out = (folder / "out").read_text()
    assert "4,968 bytes of text to train on, 552 held out, in windows of 16" in out.replace(" bytes held", " held")
    assert "bits/byte" in out and "bits per byte" in out and "generate run --prompt TEXT" in out
    assert "image" not in out.lower()
    assert Run.open(folder / "run").result["loss"] < 5.2  # below ln 256


def test_a_killed_run_continues_as_if_nothing_had_happened(folder, tmp_path, here):
    (tmp_path / "fox.txt").write_text(FOX)
    code, _ = kill_at(30, [*WORDS, "--run", "run"], tmp_path, "run")
    assert code == -signal.SIGKILL
    here("train", "--run", "run", cwd=tmp_path)
    assert metrics(tmp_path / "run") == metrics(folder / "run")
    (tmp_path / "fox.txt").write_text(FOX.replace("lazy", "idle"))
    _, err = here("evaluate", "run", code=2)
    assert "the data of run are not what they were" in err


def test_evaluation_tells_the_loss_by_position(folder, here):
    out, _ = here("evaluate", "run", "--json", "--figure", "places.png", cwd=folder)
    found = json.loads(out)
    places = found["loss_by_position"]["as trained"]
    assert len(places) == found["context"] == 16
    assert np.mean(places) == pytest.approx(found["loss"], rel=1e-6)
    assert found["bits_per_byte"] == pytest.approx(found["loss"] / np.log(2))
    assert (folder / "places.png").stat().st_size > 5000
    out, _ = here("evaluate", "run", "--test", "fox.txt", cwd=folder)
    assert "bits per byte" in out and "bytes of fox.txt" in out


def test_writing(folder, here):
    out, err = here("generate", "run", "--prompt", "The ", "--tokens", 40, "--seed", 3, cwd=folder)
    assert out.startswith("The ") and "tokens/s" in err
    again, _ = here("generate", "run", "--prompt", "The ", "--tokens", 40, "--seed", 3)
    other, _ = here("generate", "run", "--prompt", "The ", "--tokens", 40, "--seed", 4)
    assert out == again != other
    (folder / "prompt").write_text("The ")
    shown, _ = here("generate", "run", "--prompt-file", "prompt", "--tokens", 40, "--seed", 3, "--show")
    words = lambda text: " ".join(text.split())  # noqa: E731  # what is coloured has no tabs
    assert words(shown).startswith(words(out.removeprefix("The "))) and "bits per byte on average" in shown


def test_the_writer_reads_in_pieces_and_draws_as_it_says(folder):
    model = load(folder / "run").model
    text = np.frombuffer(FOX[:3000].encode(), np.uint8)[:1200]
    writer = Writer(model, room=1300)
    bits = np.concatenate(list(writer.read(text)))
    logits = np.asarray(model(jnp.asarray(text)), np.float64)
    probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    expected = -np.log2(probabilities[np.arange(1199), text[1:]])
    np.testing.assert_allclose(bits[1:], expected, atol=2e-3)
    assert bits[0] == pytest.approx(8)


def test_choices():
    logits, keys = jnp.asarray([0.0, 3.0, 2.0, -1.0]), jax.random.split(jax.random.key(0), 2000)
    assert int(Likeliest()(logits, keys[0])) == int(Draw(1.0, 1)(logits, keys[0])) == 1
    drawn = np.asarray(jax.vmap(lambda key: Draw(0.5, 2)(logits, key))(keys))
    assert set(drawn.tolist()) == {1, 2}
    assert np.mean(drawn == 1) == pytest.approx(1 / (1 + np.exp(-2.0)), abs=0.03)
    for temperature in (0.0, -1.0, float("nan"), 1e-38, 1e39):
        with pytest.raises(ValueError, match="temperature"):
            Draw(temperature)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--prompt", ""], "--prompt has no bytes"),
        (["--prompt-file", "empty"], "--prompt-file empty has no bytes"),
        (["--prompt", "a", "--prompt-file", "empty"], "take one of them"),
        (["--prompt", "a", "--temperature", "-0.5"], "--temperature -0.5: must be a number from 1e-06 to 1e+06; for"),
        (["--prompt", "a", "--temperature", "0"], "must be a number from 1e-06 to 1e+06; for the likeliest byte every"),
        (["--prompt", "a", "--temperature", "1e-7"], "--temperature 1e-07: must be a number from 1e-06 to 1e+06; for"),
        (["--prompt", "a", "--temperature", "inf"], "--temperature inf: must be a number from 1e-06 to 1e+06; for"),
        (["--prompt-file", "nowhere"], "--prompt-file nowhere: No such file or directory; name a file of text"),
        (["--prompt", "a", "--tokens", "0"], "--tokens 0: must be"),
        (["--prompt", "a", "--top-k", "257"], "--top-k 257: must be 1 to 256"),
        (["--prompt", "a", "--seed", "-1"], "--seed -1"),
    ],
)
def test_what_cannot_be_written_is_a_sentence(folder, here, words, says):
    (folder / "empty").write_text("")
    _, err = here("generate", "run", *words, cwd=folder, code=2)
    assert says in err


def test_a_language_model_does_not_classify(folder, here):
    _, err = here("predict", "run", "fox.txt", cwd=folder, code=2)
    assert "mttt generate run --prompt TEXT" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--data", "text"], "--data.path is missing: a text file, a folder"),
        (["--data", "text", "--data.path", "gone.txt"], "there is no such file or folder"),
        (
            ["--data", "text", "--data.path", "tiny.txt"],
            "context=64: a window has one byte more than that, and tiny.txt",
        ),
        (["--data", "text", "--data.path", "binary.txt"], "binary.txt is not text: byte 1 is 0"),
        (["--data", "text", "--data.path", "empty.txt"], "empty.txt is empty"),
        (["--data", "text", "--data.path", "pictures"], "pictures has no text"),
        (["shakespeare", "--data.context", "2000000"], "context=2000000"),
        (["shakespeare", "--mixup", "0.2"], "--mixup 0.2: mixes pictures and their classes"),
        (["shakespeare", "--data", "digits"], "--model lm: reads text, and the data are digits; choose vit"),
        (["digits", "--model", "lm"], "--model lm: reads text, and the data are digits"),
        (["shakespeare", "--model", "vit"], "--model vit: classifies images, and the data are shakespeare; choose lm"),
        (
            ["shakespeare", "--model.mixer", "self-attention"],
            "--model.mixer self-attention does not go with --model lm",
        ),
        (["shakespeare", "--model.heads", "5"], "--model.heads 5: does not divide the width 128"),
    ],
)
def test_what_cannot_be_trained_is_a_sentence(tmp_path, here, words, says):
    (tmp_path / "tiny.txt").write_text("short")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "binary.txt").write_bytes(b"a\0b")
    (tmp_path / "pictures").mkdir()
    _, err = here("train", *words, "--run", "run", cwd=tmp_path, code=2)
    assert says in err
    assert not (tmp_path / "run").exists()


def test_inspecting_a_text(folder, here):
    out, _ = here("data", "inspect", "fox.txt", "--json", "report.json", cwd=folder)
    for words in (
        "fox.txt: text, 5,520 bytes, 1 file",
        "UTF-8",
        f"{len(set(FOX.encode()))} different bytes",
        "the last 552 bytes",
        "lazy dög",
    ):
        assert words in out, words
    assert json.loads((folder / "report.json").read_text())["counts"][" "] == 960
    out, _ = here("data", "inspect", "shakespeare")
    assert "1,115,394 bytes" in out and "65 different bytes" in out
    _, err = here("data", "inspect", "empty", code=2)
    assert "empty" in err


def test_what_learning_at_test_time_brings(folder, here):
    found = json.loads(here("evaluate", "run", "--json", "--context", "40", cwd=folder)[0])
    assert set(found["loss_by_position"]) == set(found["results"]) == {"as trained", "W₀ frozen"}
    assert found["context"] == 40 and len(found["loss_by_position"]["W₀ frozen"]) == 40
    assert found["results"]["as trained"]["loss"] == found["loss"] != found["results"]["W₀ frozen"]["loss"]
    out, _ = here("evaluate", "run", "--rate", "0", "--json", cwd=folder)
    losses = json.loads(out)["loss_by_position"]
    assert losses["rate 0"] == losses["W₀ frozen"]  # no step is W₀
    out, _ = here("evaluate", "run", cwd=folder)
    assert "W₀ frozen: " in out and "as trained: " in out


def test_windows_that_cannot_be_are_refused(folder, here):
    _, err = here("evaluate", "run", "--steps", "2", cwd=folder, code=2)
    assert "this layer learns while it reads, a step for each chunk of tokens" in err
    _, err = here("evaluate", "run", "--context", "552", cwd=folder, code=2)
    assert "552 bytes to evaluate on; take at most 551" in err
    _, err = here("evaluate", "run", "--context", "0", cwd=folder, code=2)
    assert "--context 0" in err
    _, err = here(*WORDS, "--model.mixer.chunks.size", "17", "--run", "long", cwd=folder, code=2)
    assert "a window has 16 tokens, so no chunk would ever be complete" in err and not (folder / "long").exists()
    tiny = [*WORDS, "--model.mixer", "causal-attention", "--model.positions", "learned", "--epochs", "0.1"]
    here(*tiny, "--run", "places", cwd=folder)
    _, err = here("evaluate", "places", "--context", "17", cwd=folder, code=2)
    assert "this model has learned positions for a context of 16" in err
    _, err = here("generate", "places", "--tokens", "2000000000", cwd=folder, code=2)
    assert "the state of this model after 2,000,000,001 bytes takes" in err
    _, err = here("generate", "places", "--tokens", "16", cwd=folder, code=2)
    assert "17 tokens: this model has learned positions for 16, prompt and all" in err
    found = json.loads(here("evaluate", "places", "--json", cwd=folder)[0])
    assert set(found["results"]) == {"as trained"}  # nothing learns
