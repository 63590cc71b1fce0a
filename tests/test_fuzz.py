"""The fuzzer for longer runs by hand finds what it should, and a few of its cases pass."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def test_a_few_cases_of_each_kind(tmp_path):
    kinds = ["lines", "data"]  # the others train a run first, or compile: by hand
    words = [*kinds, "--cases", "1", "--seed", "5", "--directory", tmp_path]
    process = subprocess.run([sys.executable, TESTS / "fuzz", *words], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stdout + process.stderr
    for kind in kinds:
        assert f"{kind}: 1 cases, 0 failed" in process.stdout
    assert list((tmp_path / "cases").iterdir()) == []


WORKS = {
    "pass": None,
    "sys.exit(2)": None,
    "sys.exit(130)": None,
    "open('here.txt', 'w')": None,
    "Path.home().joinpath('a').mkdir()": None,
    "sys.exit(7)": "exit code 7",
    "1 / 0": "traceback",
    "os.kill(os.getpid(), signal.SIGSEGV)": "ended by SIGSEGV",
    "time.sleep(60)": "took too long",
    "bytearray(2**40)": "traceback",
    "open(BESIDE / 'precious.txt', 'a')": "wrote outside of its directory",
    "os.mkdir(BESIDE / 'new')": "wrote outside of its directory",
    "os.rename('.', BESIDE / 'new')": "wrote outside of its directory",
    "os.symlink(BESIDE, 'link'); os.remove('link/precious.txt')": "wrote outside of its directory",
    "subprocess.run(['touch', BESIDE / 'new'])": "changed files outside of its directory",
}


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """Why each of them failed. In a process of its own: this one has threads of JAX, which a fork does not survive."""
    script = f"""if True:
        import os, signal, subprocess, sys, time
        from pathlib import Path
        from fuzz.ground import Case, Ground
        from fuzz import ground
        from functools import partial
        ground.SECONDS = 1
        GROUND = Ground(Path(sys.argv[1]))
        BESIDE = GROUND.beside
        class Words:
            def __init__(self, text): self.text = text
            def case(self, rng, here, ground): return Case([lambda: exec(self.text, globals())], self.text)
        for text in {list(WORKS)!r}:
            print(GROUND.run(Words(text), "a").failure)
    """
    directory = tmp_path_factory.mktemp("ground")
    process = subprocess.run([sys.executable, "-c", script, directory], cwd=TESTS, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return dict(zip(WORKS, process.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("work", WORKS)
def test_what_a_case_may_do_and_what_not(work, failures):
    assert failures[work] == str(WORKS[work])
