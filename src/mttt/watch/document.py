"""The page as one document: its styles and scripts are in it, so it can be sent, and opened from a disk."""

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any, NamedTuple

STYLES = ("vendor/uPlot.min.css", "base.css", "layout.css", "parts.css")
SCRIPTS = (
    "vendor/uPlot.iife.min.js",
    "elements.js",  # makes the one name that all of them share
    "packed.js",
    "source.js",
    "colour.js",
    "bytes.js",
    "heat.js",
    "charts.js",
    "draw.js",
    "knobs.js",
    "inputs.js",
    "prediction.js",
    "token.js",
    "trace.js",
    "picture.js",
    "text.js",
    "texts.js",
    "writing.js",
    "training.js",
    "page.js",  # begins
)
"""in the order in which the page reads them"""
MARK = '<meta name="generator" content="mttt watch --export">'
"""in every export, so that one can be told from a file of somebody else"""
_SOURCE = '<script id="mttt-source" type="application/json">'


class Document(NamedTuple):
    """The HTML, and what may run in it."""

    html: str
    policy: str
    """a content security policy: these scripts and styles by their digests, and nothing from elsewhere"""


def document(source: dict[str, Any]) -> Document:
    """The page with what it is to show: live, or the answers of an export."""
    page = files("mttt.watch") / "page"
    styles = [(page / name).read_text(encoding="utf-8") for name in STYLES]
    scripts = [(page / name).read_text(encoding="utf-8") for name in SCRIPTS]
    live = source["mode"] == "live"
    policy = _policy(styles, scripts, connect="'self'" if live else "'none'")
    # Where no server says so, the document says itself what may run in it.
    meta = "" if live else f'{MARK}\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    parts = {
        "styles": meta + "\n".join(f"<style>{style}</style>" for style in styles),
        "source": f"{_SOURCE}{_inside(source)}</script>",
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    html = (page / "index.html").read_text(encoding="utf-8")
    html = re.sub(r"<!-- mttt:(\w+) -->", lambda found: parts[found[1]], html)
    headers = "; frame-ancestors 'none'"  # which a document cannot say
    return Document(html, policy + headers)


def _inside(source: dict[str, Any]) -> str:
    """JSON in which no tag can end the element that it is in."""
    return json.dumps(source, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _policy(styles: list[str], scripts: list[str], *, connect: str) -> str:
    allowed = {"script-src": _digests(scripts), "style-src": _digests(styles)}
    rules = [
        "default-src 'none'",
        *(f"{name} {digests}" for name, digests in allowed.items()),
        "img-src data: blob:",
        f"connect-src {connect}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def _digests(texts: list[str]) -> str:
    made = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in made) or "'none'"
