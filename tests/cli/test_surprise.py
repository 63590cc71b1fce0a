"""Bytes as they are shown on a terminal."""

import io

from rich.console import Console

from mttt.cli.surprise import Coloured


def test_characters_are_shown_as_they_are_with_or_without_colours():
    """Tabs, brackets and characters of several bytes, too; those have the bits of all their bytes."""
    for colours in (False, True):
        out = io.StringIO()
        shown = Coloured(Console(file=out, force_terminal=colours, color_system="standard" if colours else None))
        for byte in "a\té[red]".encode():
            shown.add(bytes([byte]), 3.0)
        assert ("\x1b[93m\t\x1b[0m" in out.getvalue()) == colours
        assert ("\x1b[1;7;31mé\x1b[0m" in out.getvalue()) == colours
        if not colours:
            assert out.getvalue() == "a\té[red]"
