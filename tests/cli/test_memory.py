"""Memory that is freed is there again without the system's help."""

import os
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy
from mttt.cli.memory import keep_memory

agreed = keep_memory() if {keep} else None
faults = []
for _ in range(4):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    numpy.ones(2**22)  # 32 MiB
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(agreed, max(faults[1:]))
"""


def run(*, keep, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_", "LD_"))}
    # Without this, NumPy asks for pages so large that few are cleared at all.
    clean["NUMPY_MADVISE_HUGEPAGE"] = "0"
    result = subprocess.run(
        [sys.executable, "-c", FAULTS.format(keep=keep)],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    agreed, faults = result.stdout.split()
    return agreed, int(faults)


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc, the C library of most Linux systems")
def test_what_is_freed_is_kept():
    agreed, kept = run(keep=True)
    if agreed == "False":
        pytest.skip("another C library than glibc")
    _, given_back = run(keep=False)
    assert kept < 100 < 1000 < given_back


@pytest.mark.skipif(sys.platform != "linux", reason="as above")
def test_settings_of_the_user_stay():
    assert run(keep=True, MALLOC_ARENA_MAX="4")[0] == "False"
