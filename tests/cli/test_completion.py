"""Shells complete what the program takes, without asking it."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest

from mttt.cli.commands import all_commands
from mttt.cli.completion import SHELLS
from mttt.recipes import PRESETS

COMPLETED = {
    "mttt ev": "evaluate",
    "mttt train ima": "imagenet-p",
    "mttt train digits --ep": "--epochs",
    "mttt train --model.mixer.lea": "--model.mixer.learner",
    "mttt train digits --model.mixer self": "self-attention",
    "mttt train --dtype b": "bfloat16",
    "mttt train --run runs/d": "runs/digits",
    "mttt train --recipe a": "a.json",
    "mttt evaluate runs/d": "runs/digits",
    "mttt predict runs/digits m": "my pictures",
    "mttt predict runs/digits a.json m": "my pictures",
    "mttt bench com": "compile",
    "mttt bench layers --layers mttt-mlp self": "self-attention",
    "mttt bench layers --layers mttt-mlp --fi": "--figure",
    "mttt bench layers --tokens 196 --lay": "--layers",
    "mttt study rec": "recall",
    "mttt completion ba": "bash",
    "mttt help eva": "evaluate",
    "mttt --ver": "--version",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run, a folder that is none, a file; and the scripts."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "runs" / "digits").mkdir(parents=True)
    (folder / "runs" / "digits" / "recipe.json").touch()
    (folder / "my pictures").mkdir()
    (folder / "a.json").touch()
    for shell, script in SHELLS.items():
        (folder / f".{shell}").write_text(script(all_commands()))
    return folder


READY = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source .bash"),
    "zsh": (["zsh", "-f", "-i"], "bindkey -e; autoload -U compinit; compinit -D -u; source .zsh"),
    "fish": (["fish", "--no-config", "-i"], "source .fish"),
}


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_what_is_typed(shell, place):
    """In a terminal, with Tab. Then the line is printed instead of run."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    command, setup = READY[shell]
    main, other = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        command, stdin=other, stdout=other, stderr=other, cwd=place, env=environment, start_new_session=True
    )
    os.close(other)
    try:
        say(main, f"{setup}; echo READ''Y\n", "READY\r\n")
        for line, word in COMPLETED.items():
            said = say(main, f'{line}\t\x01echo "<" \x05">"\n', ">\r\n")
            assert f"{line.rpartition(' ')[0]} {word}" in said.rpartition("\n< ")[2], (line, said)
    finally:
        process.kill()
        process.wait()
        os.close(main)


def say(terminal: int, words: str, until: str, seconds: float = 20) -> str:
    os.write(terminal, words.encode())
    said, end = b"", time.monotonic() + seconds
    while until not in said.decode(errors="replace") and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            said += os.read(terminal, 65536)
    return said.decode(errors="replace")


def test_fish_completes_what_is_typed(place):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    asks = "\n".join(f"complete -C '{line}'; echo ." for line in COMPLETED)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source .fish\n{asks}"],
        cwd=place,
        env=os.environ | {"HOME": str(place)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    for (line, word), said in zip(COMPLETED.items(), done.stdout.split(".\n"), strict=False):
        assert said.startswith(word), (line, said)


def test_bash_lists_what_is_possible(place):
    """Its function, called as bash does."""

    def offered(*words):
        call = 'source .bash; COMP_WORDS=(mttt "$@"); COMP_CWORD=$#; _mttt; printf "%s\\n" "${COMPREPLY[@]}"'
        run = [shutil.which("bash"), "-c", call, "bash", *words]
        # Without a PATH there is no mttt to ask, and no Python.
        return subprocess.run(run, cwd=place, capture_output=True, text=True, env={"PATH": ""}).stdout.splitlines()

    assert offered("train", "") == list(PRESETS)
    assert offered("evaluate", "") == ["runs/digits"]
    assert offered("train", "--run", "=", "") == ["runs/digits"], "bash splits --run=…"
    assert offered("train", "--epochs", "") == [""], "a number"
    assert offered("bench", "layers", "--repeats", "3", "--js") == ["--json"]
    assert set(offered("evaluate", "runs/digits", "-")) >= {"--steps", "--json", "--help"}
    assert offered("train", "digits", "") == [""], "there is one preset"


def test_the_program_prints_the_script(here, place):
    for shell in SHELLS:
        assert here("completion", shell)[0] == (place / f".{shell}").read_text()
    assert "expected bash or zsh or fish" in here("completion", "tcsh", code=2)[1]
