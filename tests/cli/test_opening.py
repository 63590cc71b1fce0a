"""What people are told to type."""

import sys

from mttt.cli.opening import program


def test_the_program_is_named_as_it_can_be_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(binaries / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == ".venv/bin/python -m mttt", "run from its source"
    (binaries / "mttt").touch(mode=0o755)
    assert program() == ".venv/bin/mttt", "the environment is not active"
    monkeypatch.setenv("PATH", str(binaries))
    assert program() == "mttt"
