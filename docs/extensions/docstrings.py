"""Docstrings of public names, as MyST Markdown.

A docstring is Markdown with unicode maths. Some lines begin a section, such as `Arguments:` and `Example:`. Arguments
and fields are a list, `- name: text`. An example is a `>>>` block.
"""

import inspect
import re

SECTIONS = ("Arguments", "Fields", "Returns", "To implement", "Example", "Reference")
_HEAD = re.compile(rf"^({'|'.join(SECTIONS)}):[ \t]*", re.M)
_ITEM = re.compile(r"^- `{0,2}(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*)`{0,2}: ", re.M)


class DocstringError(ValueError):
    """A docstring that is not in the format."""


def as_markdown(docstring: str) -> str:
    """The docstring with headings for its sections, fences around examples, and names of arguments as code."""
    docstring = inspect.cleandoc(docstring)
    first, *rest = _HEAD.split(docstring)
    parts = [_plain(first)]
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        body = _arguments(body) if name in ("Arguments", "Fields") else _plain(body)
        if not body.strip():
            raise DocstringError(f"the section {name} is empty")
        parts.append(f":::{{rubric}} {name}\n:::\n\n{body.strip()}\n")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _arguments(body: str) -> str:
    """A list whose items begin with a name in code."""
    body = inspect.cleandoc(body)
    if not _ITEM.match(body):
        raise DocstringError(f"expected a list of `- name: text`, got {body.splitlines()[:1]}")
    return _ITEM.sub(lambda item: f"- {', '.join(f'`{name}`' for name in item[1].split(', '))}: ", body)


def _plain(text: str) -> str:
    """Text with a fence around each block of an interpreter's session and each block of indented lines."""
    lines, fence = [], None
    for line in inspect.cleandoc(text).split("\n"):
        if fence == "pycon" and not line.strip():
            lines.append("```")
            fence = None
        if fence is None and line.lstrip().startswith(">>>"):
            lines.append("```pycon")
            fence = "pycon"
        lines.append(line.strip() if fence == "pycon" and line.lstrip().startswith((">>>", "...")) else line)
    return "\n".join([*lines, "```"] if fence else lines)
