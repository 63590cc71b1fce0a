import io

from rich.console import Console

from mttt.cli.say import one_line, printable, say


def test_control_characters_are_shown_not_obeyed():
    assert printable("a\x1b[2Jb\r\u202ec\ud800é…\n") == "a\\x1b[2Jb\\x0d\\u202ec\\ud800é…\n"
    assert one_line("a\nb\tc\x00") == "a\\nb\\tc\\x00"


def test_markup_stays_text():
    out = io.StringIO()
    say(Console(file=out, width=20), "[red]a path[/red] that is longer than the line\x07")
    assert out.getvalue() == "[red]a path[/red] that is longer than the line\\x07\n"
