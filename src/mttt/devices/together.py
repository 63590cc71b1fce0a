"""How the processes of a training agree, and notice that one of them is gone."""

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from mttt.devices.abort import before_abort
from mttt.devices.processes import answers

_TEXT = 2000  # bytes that a process can say at once
_EVERY = 1.0  # seconds between two looks at the others


class OtherFailed(Exception):
    """Another process of this training could not go on."""


@runtime_checkable
class Company(Protocol):
    """The processes of a training, this one among them."""

    @property
    def first(self) -> bool:
        """Is this the one that writes and shows?"""
        ...

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def ask(self, *flags: int) -> Callable[[], tuple[int, ...]]:
        """The largest of each flag, when they are known. All processes ask as often, and in the same order."""
        ...

    def tell(self, text: str) -> list[str]:
        """What every process says, by number. All have to take part."""
        ...


class Alone:
    """One process."""

    first, count = True, 1

    def ask(self, *flags: int) -> Callable[[], tuple[int, ...]]:
        return lambda: flags

    def tell(self, text: str) -> list[str]:
        return [text]


ALONE = Alone()


def done_by_first(company: Company, action: Callable[[], str | None]) -> str:
    """What the first process does, and says; the others wait, and fail where it fails."""
    if company.count == 1:
        return action() or ""
    error, text = None, ""
    if company.first:
        try:
            text = f"+{action() or ''}"
        except Exception as raised:
            error, text = raised, f"-{raised}"
    said = company.tell(text)[0]
    if error is not None:
        raise error
    if said.startswith("-"):
        raise OtherFailed(said[1:])
    return said[1:]


class Together:
    """Several processes, each with devices of its own."""

    def __init__(self):
        self.number, self.count = jax.process_index(), jax.process_count()
        self.first = self.number == 0
        # One device of each process would be enough, but JAX wants those of the mesh that is set around a training.
        mesh = Mesh(np.asarray(jax.devices()), ("device",))
        self._rows = NamedSharding(mesh, PartitionSpec("device"))
        self._largest = jax.jit(lambda flags: flags.max(axis=0), out_shardings=NamedSharding(mesh, PartitionSpec()))

    def ask(self, *flags: int) -> Callable[[], tuple[int, ...]]:
        """A small program on the devices, in front of the next step: nobody waits for it."""
        largest = self._largest(
            jax.make_array_from_process_local_data(
                self._rows, np.tile(np.asarray(flags, np.int32), (jax.local_device_count(), 1))
            )
        )
        return lambda: tuple(np.asarray(largest.addressable_data(0)).tolist())

    def tell(self, text: str) -> list[str]:
        said = np.zeros(_TEXT, np.uint8)
        data = text.encode()[:_TEXT]
        said[: len(data)] = np.frombuffer(data, np.uint8)
        every = multihost_utils.process_allgather(said)
        return [bytes(row).rstrip(b"\0").decode(errors="ignore") for row in np.asarray(every).reshape(self.count, -1)]


def _state() -> Any:
    """Of `jax.distributed`: its client holds small texts that all processes share, though without a public name."""
    from jax._src import distributed

    return distributed.global_state


def _client() -> Any:
    return _state().client


class Watch:
    """A thread that looks after the other processes. A collective in which one is missing never ends by itself.

    Each process says every second that it is there. One that is silent for `patience` seconds, or has said why it
    failed, ends this one: with a sentence, and by force, because no other thread can be interrupted.
    """

    def __init__(self, together: Together, patience: float, *, end: Callable[[str, int], None] | None = None):
        self._together, self._patience, self._end = together, patience, end or _end
        self._stop, self._heard = threading.Event(), time.monotonic()
        self._abort = before_abort(self._aborted)
        self._thread = threading.Thread(target=self._look, daemon=True)

    @property
    def first(self) -> bool:
        """Is this the process that all others need, to hear of each other?"""
        return self._together.first

    def __enter__(self) -> "Watch":
        self._heard = time.monotonic()
        self._abort.__enter__()
        self._thread.start()
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def _listen(self) -> None:
        """Process 0 holds what is told. If it hangs, so does the thread that asks it."""
        while not self._stop.wait(_EVERY):
            if time.monotonic() - self._heard > self._patience:
                self._end(f"process 0 has not answered for {self._patience:g} seconds", 1)
                return

    def __exit__(self, kind: Any, error: BaseException | None, _: object) -> None:
        self._stop.set()
        self._thread.join()
        self._abort.__exit__(None, None, None)

    def _aborted(self) -> None:
        """JAX ends this process. Where process 0 does not answer, that is why; otherwise JAX's message has to do."""
        if not self._together.first and not answers(_state().coordinator_address):
            self._end("process 0 is gone: the connection to it was closed", 1)

    def failed(self, text: str, code: int) -> None:
        """Tell the others why this process ends. Number 0 holds what is told, so it waits for the readers."""
        _client().key_value_set(f"mttt/failed/{self._together.number}", f"{code} {text[:_TEXT]}", allow_overwrite=True)
        if self._together.first:
            time.sleep(3 * _EVERY)

    def wait(self, *, patiently: bool = False) -> None:
        """For the watch to find out who has said why it failed, and to end this process."""
        self._thread.join(self._patience if patiently else 3 * _EVERY)

    def _look(self) -> None:
        others = [number for number in range(self._together.count) if number != self._together.number]
        beats, since = dict.fromkeys(others, ""), dict.fromkeys(others, time.monotonic())
        beat = 0
        while not self._stop.wait(_EVERY):
            beat += 1
            try:
                client = _client()
                client.key_value_set(f"mttt/beat/{self._together.number}", str(beat), allow_overwrite=True)
                found = dict(client.key_value_dir_get("mttt/"))
            except Exception:
                continue
            self._heard = now = time.monotonic()
            for number in others:
                if text := found.get(f"mttt/failed/{number}"):
                    code, _, reason = text.partition(" ")
                    self._end(f"process {number} failed: {reason}", int(code))
                    return
                if (new := found.get(f"mttt/beat/{number}", "")) != beats[number]:
                    beats[number], since[number] = new, now
                elif now - since[number] > self._patience:
                    silent = f"process {number} has been silent for {self._patience:g} seconds: killed, or it hangs"
                    self._end(silent, 1)
                    return


def _end(reason: str, code: int) -> None:
    sys.stdout.flush()
    again = "" if code == 2 else ". The same command continues from the newest checkpoint."
    print(f"\nmttt: {reason}{again}", file=sys.stderr, flush=True)
    os._exit(code)
