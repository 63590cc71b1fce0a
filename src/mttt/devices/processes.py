"""Several processes as one program, by `jax.distributed`."""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import jax

from mttt.devices.abort import before_abort
from mttt.fields import FieldError

_ADDRESS = re.compile(r"(?P<host>[^\s,]+):(?P<port>[0-9]{1,5}),(?P<count>[0-9]{1,5}),(?P<number>[0-9]{1,5})")
_CONNECT = 5
"""times the patience with a silent process is the patience with one that is not there yet: launchers take a while"""


class NotConnected(Exception):
    """The processes of a training did not find each other."""


@dataclass(frozen=True)
class Distributed:
    """Where the processes meet: `kind` is auto, off or by hand."""

    kind: str
    coordinator: str = ""
    count: int = 1
    number: int = 0

    @classmethod
    def parse(cls, words: str) -> "Distributed":
        """auto, off, or HOST:PORT,COUNT,NUMBER."""
        if words in ("auto", "off"):
            return cls(words)
        if not (found := _ADDRESS.fullmatch(words)):
            reason = "expected auto, off, or HOST:PORT,COUNT,NUMBER such as 10.0.0.1:1234,2,0"
            raise FieldError("distributed", words, reason)
        port, count, number = (int(found[name]) for name in ("port", "count", "number"))
        if not 1 <= port <= 65535:
            raise FieldError("distributed", words, f"port {port} is none; take one from 1024 to 65535")
        if not number < count:
            raise FieldError("distributed", words, f"{count} processes have the numbers 0 to {count - 1}, not {number}")
        return cls("by hand", f"{found['host']}:{port}", count, number)


def connected(wanted: Distributed, *, patience: float, late: Callable[[str], None]) -> int:
    """Connect with the other processes, before JAX has looked for devices; how many processes there are.

    JAX's own time limit for a silent process comes after ours (`Watch`). `late` is called where JAX would end this
    process because the others did not come in time.
    """
    if wanted.kind == "off" or (wanted.kind == "auto" and not in_a_cluster()):
        return 1
    seconds = int(_CONNECT * patience)
    limits: dict[str, Any] = {
        "heartbeat_timeout_seconds": int(2 * patience) + 60,
        "initialization_timeout": seconds,
        "shutdown_timeout_seconds": int(patience) + 10,
    }
    where = f" at {wanted.coordinator}" if wanted.coordinator else ""
    advice = f"start all within {seconds} seconds, with the same address and count and different numbers"
    late_words = f"the processes of this training did not connect{where} in time; {advice}"
    if wanted.number and not _comes(wanted.coordinator, seconds):
        raise NotConnected(late_words)
    # On CPUs, the collectives of several processes are Gloo's.
    with suppress(AttributeError):
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        with before_abort(lambda: late(late_words)), _interruptible():
            if wanted.kind == "auto":
                jax.distributed.initialize(**limits)
            else:
                jax.distributed.initialize(wanted.coordinator, wanted.count, wanted.number, **limits)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise NotConnected(
            f"the processes of this training did not connect{where}: {reason.rstrip('.')}; {advice}"
        ) from error
    return jax.process_count()


def answers(address: str) -> bool:
    """Is there anybody at HOST:PORT?"""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=2).close()
    except OSError:
        return False
    return True


def _comes(address: str, seconds: int) -> bool:
    """Wait for process 0. JAX would wait too, but ends with a stack trace."""
    limit = time.monotonic() + seconds
    while not answers(address):
        if time.monotonic() > limit:
            return False
        time.sleep(0.2)
    return True


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the process at once: JAX waits for others without looking at Python's signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def in_a_cluster() -> bool:
    """Whether a launcher that JAX knows has started this process as one of several."""
    slurm = int(os.environ.get("SLURM_NTASKS", "1") or 1) > 1 and "SLURM_PROCID" in os.environ
    open_mpi = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1") or 1) > 1
    kubernetes = "KUBERNETES_SERVICE_HOST" in os.environ and "JOB_COMPLETION_INDEX" in os.environ
    cloud_tpu = (
        len(os.environ.get("TPU_WORKER_HOSTNAMES", "").split(",")) > 1 or "MEGASCALE_COORDINATOR_ADDRESS" in os.environ
    )
    return slurm or open_mpi or kubernetes or cloud_tpu or "JAX_COORDINATOR_ADDRESS" in os.environ
