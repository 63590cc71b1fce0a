"""How the site shows public names: their docstrings and signatures, and that each has one place."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "extensions"))

import public_names
from docstrings import DocstringError, as_markdown
from signatures import signature
from sphinx.errors import ExtensionError

import mttt

DOCSTRING = """A layer, Wx.

    It maps tokens.

    Arguments:
    - width: how wide, k
    - `bias`, `scale`: two numbers; the second
      in float32

    Returns: an array (n, k).

    Example:
        >>> layer = mttt.LinearLearner(4, key=key)
        >>> layer(x).shape
        (3, 4)

    Reference: Sun et al. (2023).
    """
MARKDOWN = """A layer, Wx.

It maps tokens.

:::{rubric} Arguments
:::

- `width`: how wide, k
- `bias`, `scale`: two numbers; the second
  in float32

:::{rubric} Returns
:::

an array (n, k).

:::{rubric} Example
:::

```pycon
>>> layer = mttt.LinearLearner(4, key=key)
>>> layer(x).shape
(3, 4)
```

:::{rubric} Reference
:::

Sun et al. (2023).
"""


def test_docstrings_become_markdown():
    assert as_markdown(DOCSTRING) == MARKDOWN


def test_text_after_an_example_is_text():
    assert as_markdown("A.\n\nExample:\n>>> 1\n1\n\nMore.").endswith("```pycon\n>>> 1\n1\n```\n\nMore.\n")


@pytest.mark.parametrize("docstring", ["A.\n\nArguments:\nwidth is a number", "A.\n\nReturns:\n\nExample:\n>>> 1"])
def test_docstrings_in_another_format_are_refused(docstring):
    with pytest.raises(DocstringError, match=r"expected a list of `- name: text`|the section Returns is empty"):
        as_markdown(docstring)


def test_signatures_are_as_written():
    assert signature(mttt.SelfAttention) == "(dim: int, heads: int, *, key: PRNGKeyArray)"
    assert "optimizer: Optimizer=GradientDescent()" in signature(mttt.TTT)
    assert 'tokens: Float[Array, "..."]' in signature(mttt.inner_loop)
    assert signature(mttt.inner_loop).endswith(" -> Learned")
    assert "chunk: int=64" in signature(mttt.CausalLinearAttention)
    assert 'losses: Float[Array, "T+1"] | None' in signature(mttt.Learned)
    assert signature(mttt.Learner) == signature(mttt.Mixer) == ""


def test_classes_without_an_init_show_their_fields():
    assert signature(mttt.Size) == "(dim: int, depth: int, heads: int)"
    assert signature(mttt.Mixed).endswith('losses: Float[Array, "heads T+1"] | None = None)')


def test_every_public_name_can_be_shown():
    for name in public_names.public():
        shown = public_names.markdown(name)
        assert f"}} {name}" in shown
        assert " at 0x" not in shown, name  # addresses differ from build to build


def test_a_name_has_one_page():
    written = {}
    public_names.claim(written, "TTT", "a")
    with pytest.raises(ExtensionError, match="TTT is documented twice: a, b"):
        public_names.claim(written, "TTT", "b")
    with pytest.raises(ExtensionError, match="Nothing is not a public name"):
        public_names.claim(written, "Nothing", "b")


def test_no_name_may_be_missing():
    written = dict.fromkeys(public_names.public(), "page")
    public_names.check_complete(written)
    del written["TTT"], written["load"]
    with pytest.raises(ExtensionError, match="no page documents: TTT, load"):
        public_names.check_complete(written)
