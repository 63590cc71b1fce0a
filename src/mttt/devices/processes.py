"""Several processes as one program, by `jax.distributed`."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax

from mttt.fields import FieldError

_ADDRESS = re.compile(r"(?P<host>[^\s,]+):(?P<port>[0-9]{1,5}),(?P<count>[0-9]{1,5}),(?P<number>[0-9]{1,5})")
_CONNECT_SECONDS = 300


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


def connected(wanted: Distributed, *, patience: float) -> int:
    """Connect with the other processes, before JAX has looked for devices; how many processes there are.

    JAX's own time limit ends a process without a sentence, so it comes after ours (`Together.watch`).
    """
    if wanted.kind == "off" or (wanted.kind == "auto" and not _in_a_cluster()):
        return 1
    limits: dict[str, Any] = {
        "heartbeat_timeout_seconds": int(2 * patience) + 60,
        "initialization_timeout": _CONNECT_SECONDS,
        "shutdown_timeout_seconds": int(patience) + 10,
    }
    # On CPUs, the collectives of several processes are Gloo's.
    with suppress(AttributeError):
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        if wanted.kind == "auto":
            jax.distributed.initialize(**limits)
        else:
            jax.distributed.initialize(wanted.coordinator, wanted.count, wanted.number, **limits)
    except Exception as error:
        where = f" at {wanted.coordinator}" if wanted.coordinator else ""
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise NotConnected(
            f"the processes of this training did not connect{where}: {reason}. All have to be started within "
            f"{_CONNECT_SECONDS} seconds, with the same address and count and different numbers"
        ) from error
    return jax.process_count()


def _in_a_cluster() -> bool:
    """Whether a launcher that JAX knows has started this process as one of several."""
    slurm = int(os.environ.get("SLURM_NTASKS", "1") or 1) > 1 and "SLURM_PROCID" in os.environ
    open_mpi = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1") or 1) > 1
    kubernetes = "KUBERNETES_SERVICE_HOST" in os.environ and "JOB_COMPLETION_INDEX" in os.environ
    cloud_tpu = (
        len(os.environ.get("TPU_WORKER_HOSTNAMES", "").split(",")) > 1 or "MEGASCALE_COORDINATOR_ADDRESS" in os.environ
    )
    return slurm or open_mpi or kubernetes or cloud_tpu or "JAX_COORDINATOR_ADDRESS" in os.environ
