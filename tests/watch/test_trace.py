"""What the page shows of a picture, against the models themselves."""

import base64
from io import BytesIO

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from mttt.mixers import with_inner_loop
from mttt.watch.asked import Refused
from mttt.watch.packed import unpacked
from mttt.watch.trace import changed, look
from watch.small import asked, entry, service

predict = eqx.filter_jit(lambda model, image: jax.nn.softmax(model(image)))
traced = eqx.filter_jit(lambda model, image: model.trace(image))


def image_of(name):
    loaded = entry(name).current()
    return loaded.model, loaded.read(entry(name).pictures["0"].pixels)


def test_the_prediction_at_t_is_that_of_the_model_with_t_steps():
    answer = service().trace(asked("full"))
    model, image = image_of("full")
    for t, probabilities in enumerate(answer["probabilities"]):
        np.testing.assert_allclose(probabilities, predict(with_inner_loop(model, steps=t), image), atol=1e-4)
    assert np.ptp(answer["probabilities"], axis=0).max() > 1e-3  # steps change something
    assert (answer["steps"], answer["rate"], answer["label"]) == (2, 8.0, "0")
    assert answer["grid"] == {"rows": 2, "columns": 2}


@pytest.mark.parametrize("name", ["full", "linear", "momentum"])
def test_losses_are_those_that_the_model_reports(name):
    answer = service().trace(asked(name))
    model, image = image_of(name)
    whole = traced(model, image)
    np.testing.assert_allclose(answer["losses"], whole.losses, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(unpacked(answer["token_losses"]).mean(axis=-1), whole.losses, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(answer["probabilities"][-1], jax.nn.softmax(whole.logits), atol=1e-4)
    distance = np.asarray(answer["distance"])
    assert not distance[..., 0].any() and (distance[..., 1:] > 0).all()


@pytest.mark.parametrize("name", ["kernel", "attention"])
def test_without_an_inner_loop_there_are_probabilities_alone(name):
    answer = service().trace(asked(name))
    model, image = image_of(name)
    np.testing.assert_allclose(answer["probabilities"], [predict(model, image)], atol=1e-4)
    assert answer["losses"] is None and answer["token_losses"] is None and answer["distance"] is None
    with pytest.raises(Refused, match="no inner loop"):
        service().update(asked(name, layer=0, head=0, token=0, t=0))


def test_other_rates_and_fewer_steps_need_no_new_program():
    model, image = image_of("full")
    look(changed(model, 2, 8.0), image, jnp.asarray(2))
    count = look._cached._cache_size()
    for steps, rate in ((2, 8.0), (1, 8.0), (3, 0.5), (4, 0.0)):
        found = look(changed(model, steps, rate), image, jnp.asarray(steps))
        assert found.probabilities.shape[0] == 5
        if rate == 0:
            np.testing.assert_allclose(found.probabilities - found.probabilities[:1], 0, atol=1e-6)
    assert look._cached._cache_size() == count


@pytest.mark.parametrize("name", ["full", "linear", "momentum"])
def test_an_update_is_a_step_of_the_trace(name):
    request = asked(name, layer=0, head=1, token=2, t=1)
    trace, update = service().trace(request), service().update(request)
    losses = unpacked(trace["token_losses"])[0, 1, :, 2]
    np.testing.assert_allclose([update["loss_before"], update["loss_after"]], losses[1:], rtol=1e-4)
    assert len(update["target"]) == len(update["before"]) == len(update["after"]) == 8
    total = 0.0
    for part in update["parts"]:
        before, gradient, after = (unpacked(part[key]) for key in ("before", "gradient", "after"))
        total += float(((after - before) ** 2).sum())
        if update["exact"]:
            np.testing.assert_allclose(after, before - update["rate"] * gradient, atol=1e-5)
    assert update["exact"] is (name != "momentum")
    sample = update["sample"]
    part = next(part for part in update["parts"] if part["name"] == sample["part"])
    assert sample["after"] == pytest.approx(float(unpacked(part["after"])[tuple(sample["index"])]), rel=1e-6)
    first = service().update(request | {"t": 0})
    for one, other in zip(first["parts"], update["parts"], strict=True):
        assert one["after"] == other["before"]


def test_the_answer_is_decoded_as_its_loss_says():
    update = service().update(asked("full", layer=1, head=0, token=3, t=0))
    for when in ("before", "after"):
        wrong = 0.5 * np.mean((np.asarray(update[when]) - np.asarray(update["target"])) ** 2)
        assert update[f"loss_{when}"] == pytest.approx(wrong, rel=1e-3)
    assert update["space"] == "token"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "nobody"}, "there is no model 'nobody'"),
        ({"model": "text"}, "reads text"),
        ({"steps": 17}, "steps = 17: expected a whole number from 0 to 16"),
        ({"steps": True}, "steps = True"),
        ({"rate": "much"}, "η = 'much'"),
        ({"input": {}}, "neither example nor picture nor drawing"),
        ({"input": {"example": "99"}}, "no example '99'"),
        ({"input": {"picture": "???"}}, "in base64"),
        ({"input": {"picture": "aGVsbG8gd29ybGQ="}}, "the picture is text, not an image"),
        ({"input": {"drawing": [[0, 1], [2]]}}, "no square"),
        ({"input": {"drawing": [[0, 256], [0, 0]]}}, "numbers from 0 to 255"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(change, why):
    with pytest.raises(Refused, match=why.replace("?", r"\?")):
        service().trace(asked("full") | change)


def test_a_rate_that_was_learned_is_not_to_be_turned():
    with pytest.raises(Refused, match="no rate that can be changed"):
        service().trace(asked("linear", rate=1.0))


def test_drawings_and_files_are_pictures():
    pixels = entry("full").pictures["0"].pixels
    file = BytesIO()
    Image.fromarray(pixels[..., 0]).save(file, "PNG")
    picture = {"picture": base64.b64encode(file.getvalue()).decode()}
    expected = service().trace(asked("full"))
    for given in ({"drawing": pixels[..., 0].tolist()}, picture):
        answer = service().trace(asked("full", input=given))
        assert answer["label"] is None
        assert answer["input"] == expected["input"]
        assert answer["probabilities"] == expected["probabilities"]
    ink = service().trace(asked("full", input=picture | {"invert": True}))["input"]
    assert ink != expected["input"]
    large = np.kron(pixels[..., 0], np.ones((4, 4), int)).tolist()
    smaller = service().trace(asked("full", input={"drawing": large}))["input"]
    got = np.frombuffer(base64.b64decode(smaller["pixels"]), np.uint8)
    assert np.corrcoef(got, pixels.ravel())[0, 1] > 0.95
