"""A page of text, tables and pictures: as Markdown with pictures beside it, and as one HTML file with all in it.

Text may have `code` and **bold** in it, and nothing else.
"""

import html
import re
from dataclasses import dataclass
from pathlib import Path

from mttt.files import whole


@dataclass(frozen=True)
class Picture:
    """A drawing, as SVG."""

    name: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Rows of text. The columns named in `words` are words, the others numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Section:
    """A heading and what is under it."""

    title: str
    parts: tuple[str | Table | Picture, ...]


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]

    def write(self, directory: Path) -> tuple[Path, Path]:
        """report.md with its pictures, and report.html; each file is whole or not there."""
        directory.mkdir(parents=True, exist_ok=True)
        pictures = [part for section in self.sections for part in section.parts if isinstance(part, Picture)]
        files = {f"{picture.name}.svg": picture.svg for picture in pictures}
        files |= {"report.md": self.markdown(), "report.html": self.html()}
        for name, text in files.items():
            with whole(directory / name) as beside:
                beside.write_text(text, encoding="utf-8")
        return directory / "report.md", directory / "report.html"

    def markdown(self) -> str:
        """For reading as text, and for repositories."""
        lines = [f"# {self.title}", *self.lead]
        for section in self.sections:
            lines.append(f"## {section.title}")
            lines += [_markdown(part) for part in section.parts]
        return "\n\n".join(lines) + "\n"

    def html(self) -> str:
        """One file that needs no other."""
        body = [f"<h1>{_inline(self.title)}</h1>", *(f"<p>{_inline(text)}</p>" for text in self.lead)]
        for section in self.sections:
            body.append(f"<h2>{_inline(section.title)}</h2>")
            body += [_html(part) for part in section.parts]
        return _PAGE.format(title=html.escape(self.title), style=_STYLE, body="\n".join(body))


def _markdown(part: str | Table | Picture) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Picture):
        return f"![{part.caption}]({part.name}.svg)\n\n{part.caption}"
    marks = ["---" if place in part.words else "---:" for place in range(len(part.header))]
    rows = [part.header, tuple(marks), *part.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows)


def _html(part: str | Table | Picture) -> str:
    if isinstance(part, str):
        return f"<p>{_inline(part)}</p>"
    if isinstance(part, Picture):
        svg = part.svg[part.svg.index("<svg") :]  # without the header of a file of its own
        svg = _own_names(svg, part.name)
        return (
            f'<figure id="{part.name}" role="img" aria-label="{html.escape(part.caption)}">{svg}'
            f"<figcaption>{_inline(part.caption)}</figcaption></figure>"
        )

    def row(cells: tuple[str, ...], tag: str) -> str:
        inside = "".join(
            f'<{tag} class="{"words" if place in part.words else "number"}"{_state(cell)}>{_inline(cell)}</{tag}>'
            for place, cell in enumerate(cells)
        )
        return f"<tr>{inside}</tr>"

    head, body = row(part.header, "th"), "\n".join(row(cells, "td") for cells in part.rows)
    return f'<div class="wide"><table><thead>{head}</thead><tbody>\n{body}\n</tbody></table></div>'


VERDICTS = ("holds", "does not hold", "undecided", "not measured", "for information")


def _state(cell: str) -> str:
    """Verdicts have colours of their own, besides their words."""
    words = cell.strip("*")
    return f' data-verdict="{words}"' if words in VERDICTS else ""


def _own_names(svg: str, name: str) -> str:
    """Names inside a drawing are names in the whole page: two drawings must not share them."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{name}-\2"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)


def _inline(text: str) -> str:
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)


_STYLE = """
:root { color-scheme: light; --ink: #1c2430; --soft: #5b6675; --line: #dde2e9; --head: #f4f6f9; --accent: #2457a6; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); }
body { max-width: 62rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.4rem; color: var(--accent); }
p { max-width: 46rem; } code { background: var(--head); padding: .1em .3em; border-radius: 3px; font-size: .9em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; margin: 1rem 0; }
th, td { padding: .34rem .8rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { background: var(--head); text-align: left; font-weight: 600; vertical-align: bottom; }
.number { text-align: right; font-variant-numeric: tabular-nums; } td.number { white-space: nowrap; }
.words:not(:empty) { min-width: 3rem; max-width: 24rem; }
[data-verdict] { white-space: nowrap; font-weight: 600; }
[data-verdict="holds"] { color: #17693b; } [data-verdict="does not hold"] { color: #a32020; }
[data-verdict="undecided"] { color: #8a5a00; }
[data-verdict="not measured"], [data-verdict="for information"] { color: var(--soft); }
figure { margin: 1.4rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem; }
"""
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body>
{body}
</body>
</html>
"""
