"""Signatures as they are written in the source: `Float[Array, "n d"]`, `FullBatch(1)`, and no addresses."""

import ast
import inspect
import textwrap
from collections.abc import Callable

_SHORT = 60  # a longer default is not shown


def signature(thing: type | Callable) -> str:
    """The parameters of a function, or those that make an instance of a class: `(dim: int, *, key: PRNGKeyArray)`."""
    if not inspect.isclass(thing):
        return _of_function(thing)
    init = next((kind.__dict__["__init__"] for kind in thing.__mro__ if "__init__" in kind.__dict__), object.__init__)
    if inspect.isfunction(init) and not getattr(init, "__isabstractmethod__", False) and _written(init):
        return _of_function(init)
    return _of_fields(thing)


def _written(function: Callable) -> bool:
    """Whether the function has a source of its own; that of a dataclass is generated."""
    return inspect.unwrap(function).__code__.co_filename != "<string>" and inspect.unwrap(function).__name__ == "__init__"


def _tree(thing) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))).body[0]


def _of_function(function: Callable) -> str:
    arguments = _tree(function).args
    for place in (arguments.posonlyargs, arguments.args):
        if place and place[0].arg in ("self", "cls"):
            del place[0]
            break
    return f"({ast.unparse(arguments)})"


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
    return f"({', '.join(parts)})"


def _default(value: ast.expr | None) -> str | None:
    """What a field is if it is not given; `field(default=…)` hides it."""
    if isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "field":
        given = {word.arg: word.value for word in value.keywords}
        value = given.get("default")
    written = None if value is None else ast.unparse(value)
    return "…" if written is not None and len(written) > _SHORT else written
