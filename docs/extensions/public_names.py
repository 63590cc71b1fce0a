"""The directive `public`: names of `mttt`, one a line, each with its signature, its docstring and its methods.

The build fails if a public name is in no `public`, or in two.
"""

import inspect
from collections.abc import Callable, Iterator

from docstrings import DocstringError, as_markdown
from signatures import signature
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import mttt


def public() -> set[str]:
    """All that `import mttt` offers on purpose."""
    from mttt import public

    return {name for name in vars(public) if not name.startswith("_")} | {"load"}


def markdown(name: str) -> str:
    """One public name as MyST Markdown."""
    thing = getattr(mttt, name)
    if not callable(thing):
        return _entry("data", name, f":value: {thing!r}\n", "")
    kind = "class" if inspect.isclass(thing) else "function"
    body = _documented(name, thing)
    if kind == "class":
        body = _bases(thing) + body + "\n".join(_methods(name, thing))
    return _entry(kind, f"{name}{signature(thing)}", "", body)


def _source(name: str) -> str:
    """The file to watch: if it changes, the page is built again."""
    thing = getattr(mttt, name)
    return inspect.getsourcefile(thing if callable(thing) else type(thing)) or ""


def _entry(kind: str, head: str, options: str, body: str) -> str:
    return f"``````{{py:{kind}}} {head}\n{options}:module: mttt\n\n{body}\n``````\n"


def _documented(name: str, thing: Callable) -> str:
    if not (thing.__doc__ or "").strip():
        raise ExtensionError(f"mttt.{name} has no docstring")
    try:
        return as_markdown(thing.__doc__)
    except DocstringError as error:
        raise ExtensionError(f"docstring of mttt.{name}: {error}") from error


def _bases(cls: type) -> str:
    """Links to the public classes that it is one of: there are the methods that it has from them."""
    bases = [base.__name__ for base in cls.__mro__[1:] if getattr(mttt, base.__name__, None) is base]
    return f"Is a {', a '.join(f'{{py:class}}`~mttt.{base}`' for base in bases)}.\n\n" if bases else ""


def _methods(name: str, cls: type) -> Iterator[str]:
    """Its own public methods that say what they do, and its call."""
    for method, thing in vars(cls).items():
        function = thing.fget if isinstance(thing, property) else inspect.unwrap(getattr(thing, "__func__", thing))
        hidden = method.startswith("_") and method != "__call__"
        if hidden or not inspect.isfunction(function) or not function.__doc__:
            continue
        body = _documented(f"{name}.{method}", function)
        if isinstance(thing, property):
            yield f"`````{{py:property}} {name}.{method}\n:module: mttt\n\n{body}\n`````\n"
        else:
            yield f"`````{{py:method}} {name}.{method}{signature(function)}\n:module: mttt\n\n{body}\n`````\n"


def claim(written: dict[str, str], name: str, page: str) -> None:
    """Note that a page documents a name, if it is one and no page has documented it."""
    if name not in public():
        raise ExtensionError(f"{page}: {name} is not a public name of mttt")
    if name in written:
        raise ExtensionError(f"mttt.{name} is documented twice: {written[name]}, {page}")
    written[name] = page


def check_complete(written: dict[str, str]) -> None:
    """Every public name has a page."""
    if missing := public() - set(written):
        raise ExtensionError(f"public names that no page documents: {', '.join(sorted(missing))}")


class Public(SphinxDirective):
    """Documents public names, in the order of its lines."""

    has_content = True

    def run(self):
        """The entries of all lines."""
        nodes = []
        for name in (line.strip() for line in self.content if line.strip()):
            claim(_written(self.env), name, self.env.docname)
            self.env.note_dependency(_source(name))
            nodes += self.parse_text_to_nodes(markdown(name))
        return nodes


def _written(env) -> dict[str, str]:
    """Which page documents each name; kept from build to build."""
    if not hasattr(env, "mttt_public"):
        env.mttt_public = {}
    return env.mttt_public


def _forget(app, env, docname) -> None:
    """A page that is read again documents its names anew."""
    env.mttt_public = {name: page for name, page in _written(env).items() if page != docname}


def _check(app, env) -> None:
    check_complete(_written(env))


def setup(app):
    """Add the directive, and the check that no name is missing."""
    app.add_directive("public", Public)
    app.connect("env-purge-doc", _forget)
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": False, "parallel_write_safe": True, "env_version": 1}
