"""The site: `make docs`. Its sources are the repository's own pages, so that links work in both."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "docs" / "extensions"), str(ROOT / "src")]

from mttt import __version__ as release  # noqa: E402, F401

project = "mttt"
html_title = "mttt"
copyright = "the mttt authors, Apache-2.0"
extensions = ["myst_parser", "mathml", "public_names", "linked_code", "repository_files"]

root_doc = "docs/index"
PROJECT = {"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"}
include_patterns = [*PROJECT, "docs/**", "results/**"]
# Sphinx walks all directories that are not excluded.
exclude_patterns = [path.name for path in ROOT.iterdir() if path.name not in {*PROJECT, "docs", "results"}]
source_suffix = {".md": "markdown"}

myst_heading_anchors = 4  # the anchors that GitHub makes
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_links_external_new_tab = False
html_math_renderer = "mathml"
highlight_language = "text"
pygments_dark_style = "github-dark"
nitpicky = False  # types in signatures are Equinox's and JAX's: nothing to link to without internet
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["front"]  # index.html, which leads to docs/index.html
html_copy_source = False
html_show_sphinx = False
html_use_index = True
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db4f0", "color-brand-content": "#7db4f0"},
}
