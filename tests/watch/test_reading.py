"""Texts on the page, against the language models themselves."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mttt.mixers import frozen
from mttt.models import Draw, Writer
from mttt.watch.asked import Refused
from mttt.watch.packed import unpacked
from mttt.watch.writing import DrawAt
from watch.small import entry, service

TEXT = "To be, or not to be: that is the question; ünd so on."
forward = eqx.filter_jit(lambda model, tokens: jax.nn.log_softmax(model(tokens)))


def expected(model, text):
    """Log-probabilities at all places but the first, and the losses there."""
    logs = np.asarray(forward(model, jnp.asarray(text)))[:-1]
    return logs, -np.take_along_axis(logs, text[1:, None].astype(int), axis=1)[:, 0]


def test_a_reading_is_what_the_model_says_of_the_whole_text():
    text = np.frombuffer(TEXT.encode(), np.uint8)
    model, answer = entry("text").current().model, service().read({"model": "text", "text": TEXT})
    logs, losses = expected(model, text)
    assert answer["bytes"] == text.tolist()
    assert answer["loss"][0] is None and answer["frozen"][0] is None and answer["likely"][0] == []
    np.testing.assert_allclose(answer["loss"][1:], losses, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(answer["frozen"][1:], expected(frozen(model), text)[1], rtol=1e-3, atol=1e-4)
    assert np.abs(np.subtract(answer["loss"][1:], answer["frozen"][1:])).max() > 1e-3
    for place in (1, 17, len(text) - 1):
        (byte, probability), *others = answer["likely"][place]
        assert byte == logs[place - 1].argmax() and len(others) == 4
        assert probability == pytest.approx(np.exp(logs[place - 1].max()), rel=1e-3)
    assert not answer["state_grows"] and answer["state_bytes"] > 0


def test_the_distance_is_that_of_the_state():
    answer = service().read({"model": "text", "text": TEXT})["distance"]
    assert answer["positions"] == [0, 16, 32, 48]
    values = unpacked(answer["values"])
    assert values.shape == (1, 2, 4) and not values[..., 0].any() and (values[..., 1:] > 0).all()
    model, text = entry("text").current().model, np.frombuffer(TEXT.encode(), np.uint8)
    read = eqx.filter_jit(lambda model, tokens: model.go_on(model.start(), tokens)[1].stack)
    first, state = model.start().stack, read(model, jnp.asarray(text[:48]))
    pairs = zip(*(jax.tree.leaves(each.inside.carries.weights) for each in (first, state)), strict=True)
    square = sum(((np.asarray(a) - np.asarray(b)) ** 2).reshape(1, 2, -1).sum(-1) for a, b in pairs)
    np.testing.assert_allclose(values[..., -1], np.sqrt(square), rtol=1e-3)


def test_a_model_with_learned_places_reads_as_far_as_they_go():
    text = "To be, or not to be "
    answer = service().read({"model": "places", "text": text})
    losses = expected(entry("places").current().model, np.frombuffer(text.encode(), np.uint8))[1]
    np.testing.assert_allclose(answer["loss"][1:], losses, rtol=1e-3, atol=1e-4)
    with pytest.raises(Refused, match="21 bytes: this model has learned positions for 20"):
        service().read({"model": "places", "text": text + "x"})


def test_what_is_written_is_what_generate_writes():
    asked = {"model": "text", "prompt": "To be", "count": 6, "temperature": 0.7, "top": 9, "seed": 3}
    *lines, last = service().generate(asked)
    model = entry("text").current().model
    writer = Writer(model, room=11)
    list(writer.read(np.frombuffer(b"To be", np.uint8)))
    way = writer.write(Draw(0.7, 9), key=jax.random.key(3))
    for line in lines:
        logs = jax.nn.log_softmax(writer.logits)
        byte, bits = next(way)
        assert line["byte"] == byte and line["surprise"] == pytest.approx(bits, rel=1e-3)
        assert [one for one, _ in line["likely"]] == np.argsort(-logs)[:5].tolist()
        assert line["likely"][0][1] == pytest.approx(float(np.exp(logs.max())), rel=1e-3)
    assert len(lines) == 6 and last["done"] and last["tokens_per_second"] > 0


@pytest.mark.parametrize("top", [1, 3, 256])
def test_the_choice_is_that_of_draw(top):
    logits = jax.random.normal(jax.random.key(0), (256,))
    for seed in range(5):
        key = jax.random.key(seed)
        assert DrawAt(jnp.asarray(0.5), jnp.asarray(top))(logits, key) == Draw(0.5, top)(logits, key)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"model": "full", "text": "ab"}, "classifies pictures"),
        ({"model": "text", "text": "a"}, "fewer than 2 bytes"),
        ({"model": "text", "text": "ü" * 10_001}, "20,002 bytes; expected at most 20,000"),
        ({"model": "text", "text": 5}, "text = 5: expected a text"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(request_, why):
    with pytest.raises(Refused, match=why):
        service().read(request_)
