"""Devices and processes of a training, as they are asked for on the command line."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from rich.console import Console

from mttt.cli.arguments import UsageError, refusing
from mttt.cli.say import printable
from mttt.cli.waiting import waiting
from mttt.devices import ALONE, Company, Distributed, NotConnected, OtherFailed, Together, Watch, connected
from mttt.fields import FieldError
from mttt.runs import RunError

DEVICE_FLAGS = ("--devices.data", "--devices.sequence", "--devices.parameters", "--distributed", "--patience")


@dataclass(frozen=True)
class Devices:
    """How a training is spread over devices. It is no part of the recipe: a run may continue on others."""

    data: int | None = None
    """devices that share the rows of a batch (default: all)"""
    sequence: int = 1
    """devices that share the tokens of each input"""
    parameters: Literal["replicated", "sharded"] = "replicated"
    """a copy of parameters and optimizer state on every device, or a part on each"""


def check_patience(patience: float) -> None:
    """Seconds after which another process is given up."""
    if not 5 <= patience <= 86_400:
        raise FieldError("patience", patience, "seconds after which another process is given up; take 5 to 86400")


@contextmanager
def in_company(distributed: str, patience: float) -> Iterator[Company]:
    """The processes of this training, connected. What ends one of them ends all, with the same sentence."""
    with refusing():
        wanted = Distributed.parse(distributed)
        check_patience(patience)
    try:
        with waiting("connecting the processes"):
            count = connected(wanted, patience=patience, late=_late)
    except NotConnected as error:
        raise UsageError(str(error)) from error
    if count == 1:
        yield ALONE
        return
    together = Together()
    with Watch(together, patience) as watch:
        try:
            yield together
        except Exception as error:
            _end(error, watch)
        together.tell("")  # nobody leaves before all are done


def _late(text: str) -> None:
    """The others did not come, and JAX is about to end this process."""
    print(f"\nmttt: {text}", file=sys.stderr, flush=True)
    os._exit(2)


def _end(error: Exception, watch: Watch) -> NoReturn:
    """Say why, here and to the others, and end without waiting for them: they may be inside a collective."""
    if _is_of_collectives(error):
        watch.wait()  # another process may have said why it is gone
        text = "another process of this training is gone: the connection to it was closed"
        print(f"mttt: {text}. The same command continues from the newest checkpoint.", file=sys.stderr, flush=True)
        os._exit(1)
    if isinstance(error, OtherFailed) and watch.first:
        watch.wait(patiently=True)  # the one that failed needs this one to tell all others
    code = 2 if isinstance(error, UsageError | RunError) else 1
    print(printable(f"mttt: {error}"), file=sys.stderr, flush=True)
    if not isinstance(error, OtherFailed):
        watch.failed(str(error) or type(error).__name__, code)
    os._exit(code)


def _is_of_collectives(error: Exception) -> bool:
    """A collective in which a process is missing fails in the runtime, not in a sentence of ours."""
    return type(error).__name__ in ("JaxRuntimeError", "XlaRuntimeError") or "Gloo" in str(error)


def quiet_unless_first(company: Company, console: Console) -> Console:
    """Only the first process shows what happens."""
    return console if company.first else Console(quiet=True)


def check_alike(company: Company, parts: dict[str, Any]) -> None:
    """Refuse processes that would train something else than the first."""
    if company.count == 1:
        return
    digest = lambda part: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:32]  # noqa: E731
    found = [
        json.loads(text) for text in company.tell(json.dumps({name: digest(part) for name, part in parts.items()}))
    ]
    for number, other in enumerate(found):
        if different := [name for name in parts if other[name] != found[0][name]]:
            raise UsageError(
                f"process {number} has another {' and '.join(different)} than process 0; start all processes with the "
                "same command, versions and data"
            )
