"""mttt doctor and mttt bench devices, as far as they need no other devices."""

import json

import pytest

from mttt.outer import WrongNumbers


def test_a_machine_without_problems(here):
    out, _ = here("doctor")
    assert "No problems found." in out and "would run on 1 device (cpu)" in out
    assert json.loads(here("doctor", "--json")[0])["problems"] == []


def test_a_compiler_that_computes_wrong_numbers(here, monkeypatch):
    def wrong():
        raise WrongNumbers("jaxlib 9 computes wrong numbers on this machine")

    monkeypatch.setattr("mttt.cli.doctor.self_check", wrong)
    out, _ = here("doctor", code=1)
    assert "numbers     WRONG" in out and "Problem: jaxlib 9" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "--devices.data", "3"], "--devices.data 3: 3 × 1 devices are asked for, and there is 1 device"),
        (["train", "--devices.sequence", "2"], "--devices.sequence 2: there is 1 device; take 1 to 1"),
        (["train", "--devices.parameters", "zzz"], "zzz"),
        (["train", "--distributed", "there"], "--distributed there: expected auto, off, or HOST:PORT,COUNT,NUMBER"),
        (["train", "--patience", "0"], "--patience 0.0: seconds after which another process is given up; take 5"),
        (["bench", "devices", "--cases", "pixel"], "unknown case 'pixel'. Did you mean pixels?"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(here, tmp_path, words, said):
    _, err = here(*words, cwd=tmp_path, code=2)
    assert said in err
    assert not list(tmp_path.iterdir())
