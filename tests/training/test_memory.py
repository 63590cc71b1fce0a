"""How much memory there is."""

import resource
from types import SimpleNamespace

import jax
import pytest

from mttt.training import memory
from mttt.training.memory import _group_limits, memory_limit


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("files", "limits"),
    [
        ({}, []),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, []),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "4096\n"}, [4096]),
        (
            {
                "proc/self/cgroup": "0::/user/job\n",
                "sys/fs/cgroup/user/memory.max": "8192\n",
                "sys/fs/cgroup/user/job/memory.max": "max\n",
            },
            [8192],
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/job\n3:cpu:/other\n0::/\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "512\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            [512, 9223372036854771712],
        ),
    ],
    ids=["none", "no limit", "container", "batch system", "version 1"],
)
def test_control_groups_limit_it(tmp_path, files, limits):
    write(tmp_path, files)
    assert _group_limits(tmp_path) == limits


def test_the_least_of_all_limits_counts(monkeypatch):
    whole = memory_limit()
    if whole is None:
        pytest.skip("not Linux")
    monkeypatch.setattr(memory, "_group_limits", lambda: [1])
    assert memory_limit() <= whole
    monkeypatch.setattr(memory, "_group_limits", lambda: [])
    monkeypatch.setattr(resource, "getrlimit", lambda which: (12345, 12345))
    assert memory_limit() == 12345


@pytest.mark.parametrize(("stats", "limit"), [({"bytes_limit": 7}, 7), ({}, None), (None, None)])
def test_an_accelerator_says_what_it_has(monkeypatch, stats, limit):
    device = SimpleNamespace(platform="gpu", memory_stats=lambda: stats)
    monkeypatch.setattr(jax, "local_devices", lambda: [device])
    assert memory_limit() == limit
