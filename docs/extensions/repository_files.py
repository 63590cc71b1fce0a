"""Links to files and folders of the repository lead to pages that show them."""

import os
from html import escape
from pathlib import Path
from urllib.parse import unquote

from docutils import nodes
from sphinx import addnodes
from sphinx.highlighting import PygmentsBridge

SHOWN = {".py": "python", ".json": "text", ".jsonl": "text", ".md": "text", ".txt": "text", ".toml": "toml", "": "text"}


def _page(path: Path) -> str:
    """The name of the page that shows a file or folder."""
    return f"files/{path.as_posix()}"


def _rewrite(app, doctree) -> None:
    """Links to files, which MyST makes downloads of, and to folders, which it does not know."""
    root, here = Path(app.srcdir), app.env.docname
    for node in list(doctree.findall(lambda n: isinstance(n, addnodes.download_reference | addnodes.pending_xref))):
        target = unquote(node.get("reftarget", ""))
        if node.get("reftype") != "myst" or not target:
            continue
        path = Path(os.path.normpath(root / Path(here).parent / target))
        if not path.is_relative_to(root) or not path.exists():
            continue
        path = path.relative_to(root)
        if (root / path).is_file() and path.suffix not in SHOWN:
            continue
        app.env.mttt_shown.setdefault(here, set()).add(path)
        uri = app.builder.get_relative_uri(here, _page(path))
        node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))


def _pages(app):
    """Every file and folder that a page links to, and the files of those folders."""
    root = Path(app.srcdir)
    wanted = {path for paths in app.env.mttt_shown.values() for path in paths}
    folders = {path for path in wanted if (root / path).is_dir()}
    for folder in sorted(folders):
        inside = sorted(path.relative_to(root) for path in (root / folder).iterdir() if path.suffix in SHOWN)
        inside = [path for path in inside if (root / path).is_file()]
        wanted.update(inside)
        links = [(app.builder.get_relative_uri(_page(folder), _page(path)), path.name) for path in inside]
        rows = "".join(f'<li><a href="{escape(uri)}">{escape(name)}</a></li>' for uri, name in links)
        body = f"<h1>{escape(folder.as_posix())}</h1><ul>{rows}</ul>"
        yield _page(folder), {"title": folder.as_posix(), "body": body}, "page.html"
    pygments = PygmentsBridge("html")
    for path in sorted(wanted - folders):
        shown = pygments.highlight_block((root / path).read_text(), SHOWN[path.suffix])
        yield _page(path), {"title": path.as_posix(), "body": f"<h1>{escape(path.as_posix())}</h1>{shown}"}, "page.html"


def _begin(app, env, docnames) -> None:
    env.mttt_shown = getattr(env, "mttt_shown", {})
    for name in docnames:
        env.mttt_shown.pop(name, None)


def setup(app):
    """Rewrite links before Sphinx collects downloads, and add the pages."""
    app.connect("env-before-read-docs", _begin)
    app.connect("doctree-read", _rewrite, priority=100)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True, "env_version": 1}
