"""Strict promotion everywhere, and float64 where a test asks for it."""

import gc
import os
import signal
import tempfile
import warnings
from pathlib import Path

# Tests wait for the compiler more than for anything else. LLVM's optimisations and XLA's newer way to emit fusions are
# for speed, and take three quarters of that time; the tests of the compiler's numbers (`fully_optimised`) ask for them.
# One piece of code for each program, instead of up to 32, saves a sixth of what is left.
_QUICK = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
_QUICK += " --xla_cpu_parallel_codegen_split_count=1"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_QUICK}"

# Where in the source an operation comes from is written into every program, and no test reads it.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

# Whoever runs the tests in the background or under nohup has signals ignored, and what the tests start would, too.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)

# Programs are kept on disk while the tests run: all files, both workers and the processes they start compile once.
# Writing one takes as long as compiling a small one.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # workers find it set
    _kept = tempfile.TemporaryDirectory(prefix="mttt-tests-")
    os.environ |= {"JAX_COMPILATION_CACHE_DIR": _kept.name, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2"}

# Processes that the tests start look for garbage as seldom as this one.
_QUICK_START = str(Path(__file__).with_name("quick"))
if _QUICK_START not in os.environ.get("PYTHONPATH", ""):
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_QUICK_START, os.environ.get("PYTHONPATH")]))

import jax
import jaxtyping
import pytest

from quick import sitecustomize  # noqa: F401  # here too

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture
def as_users_run_it():
    """Without the checks of types that only the tests have."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def float64():
    with jax.enable_x64(True):
        yield


# Files whose tests wait longest: other processes train in them.
LONGEST = (
    "test_examples.py",
    "test_processes.py",
    "test_trouble.py",
    "test_steps.py",
    "test_jobs.py",
    "test_resume.py",
)


def pytest_collection_modifyitems(items):
    """The longest begin first: as the last of all, one worker would wait for the other."""
    items.sort(key=lambda item: item.path.name not in LONGEST)  # the rest stays as it is


def pytest_collection_finish():
    """What was imported and collected stays: no need to look whether it is garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def programs_are_dropped():
    """Every compiled program maps memory, and a process may have 65,530 maps: beyond, the next program crashes it.

    Below, programs are kept: most files compile the same small ones.
    """
    yield
    maps = Path("/proc/self/maps")
    if not maps.exists() or maps.read_bytes().count(b"\n") > 20_000:
        jax.clear_caches()


@pytest.fixture
def here(capsys, monkeypatch):
    """The program without a new process: what it printed. A process takes seconds."""
    from mttt.cli.main import main

    monkeypatch.setenv("COLUMNS", "200")

    def run(*words, cwd=None, code=0):
        if cwd is not None:
            monkeypatch.chdir(cwd)
        with (
            jax.numpy_dtype_promotion("standard"),
            warnings.catch_warnings(action="ignore"),
            pytest.raises(SystemExit) as exit,
        ):
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert exit.value.code == code, f"exit {exit.value.code}\n{out}\n{err}"
        return out, err

    return run


@pytest.fixture
def endless_memory(monkeypatch):
    """What is built for larger machines is checked on this one."""
    monkeypatch.setattr("mttt.training.need.memory_limit", lambda: None)
