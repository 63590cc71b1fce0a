"""Signatures as they are written in the source: `Float[Array, "n d"]`, `FullBatch(1)`, and no addresses."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

_SHORT = 60  # a longer default is not shown
_SHAPE = re.compile(r"' ?([^']*)'\]")  # jaxtyping has a space before a single axis


def signature(thing: type | Callable) -> str:
    """The parameters of a function, or those that make an instance of a class: `(dim: int, *, key: PRNGKeyArray)`."""
    written = _of_class(thing) if inspect.isclass(thing) else _of_function(thing)
    return _SHAPE.sub(r'"\1"]', written).replace("jax.nn.initializers.", "")


def _of_class(cls: type) -> str:
    """Parameters of the `__init__` that is used, if it is written; else the fields, which it is made from."""
    owner = next(kind for kind in cls.__mro__ if "__init__" in vars(kind))
    init = inspect.unwrap(vars(owner)["__init__"])
    by_hand = inspect.isfunction(init) and init.__code__.co_filename == inspect.getsourcefile(owner)
    return _of_function(init) if by_hand else _of_fields(cls)


def _tree(thing: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))).body[0]


def _of_function(function: Callable) -> str:
    tree = _tree(function)
    arguments = tree.args
    for place in (arguments.posonlyargs, arguments.args):
        if place and place[0].arg in ("self", "cls"):
            del place[0]
            break
    known = inspect.unwrap(function).__globals__
    for values in (arguments.defaults, arguments.kw_defaults):
        values[:] = [_number(value, known) for value in values]
    returns = "" if tree.returns is None or tree.name == "__init__" else f" -> {ast.unparse(tree.returns)}"
    return f"({ast.unparse(arguments)}){returns}"


def _number(default: ast.expr | None, known: dict[str, Any]) -> ast.expr | None:
    """A constant of the module that is a number, as that number."""
    value = known.get(default.id) if isinstance(default, ast.Name) else None
    return ast.Constant(value) if isinstance(value, int | float) else default


def _of_fields(cls: type) -> str:
    """The fields of a dataclass or named tuple, in the order of `inspect.signature`."""
    fields = {}
    for kind in reversed(cls.__mro__):
        if kind.__module__.startswith("mttt"):
            for node in _tree(kind).body:
                if isinstance(node, ast.AnnAssign):
                    fields[node.target.id] = node
    parts = []
    for name in inspect.signature(cls).parameters:
        if name in fields:
            default = _default(fields[name].value)
            parts.append(f"{name}: {ast.unparse(fields[name].annotation)}" + (f" = {default}" if default else ""))
    return f"({', '.join(parts)})" if parts else ""


def _default(value: ast.expr | None) -> str | None:
    """What a field is if it is not given; `field(default=…)` hides it."""
    if isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "field":
        given = {word.arg: word.value for word in value.keywords}
        value = given.get("default")
    written = None if value is None else ast.unparse(value)
    return "…" if written is not None and len(written) > _SHORT else written
