"""Every command says what it does, what it takes, and how it is called; and its examples are understood."""

import re
import shlex

import jax
import pytest
import tyro

from mttt.cli.arguments import refusing
from mttt.cli.commands import all_commands
from mttt.cli.described import described
from mttt.cli.main import COMMANDS, main
from mttt.data import describe
from mttt.recipes import PRESETS, encode
from mttt.runs import Run

PAGES = {" ".join(one.words): one for one in all_commands() if one.words and one.words != ("help",)}


class Understood(BaseException):
    """The words were parsed. Nothing else is done with them."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The runs that examples speak of, untrained."""
    folder = tmp_path_factory.mktemp("help")
    (folder / "runs").mkdir()
    for name in ("digits", "shakespeare"):
        recipe = PRESETS[name].recipe
        Run.create(folder / "runs" / name, encode(recipe), describe(recipe.data.load()))
    return folder


@pytest.fixture
def understood(monkeypatch, place):
    """Whether a command line is parsed, and the values that are checked before anything is done are possible."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(jax.config, "update", lambda *_: None)  # what a benchmark of devices asks for
    parse = tyro.cli

    def stop(*structure, **options):
        arguments = parse(*structure, **options)
        if callable(getattr(arguments, "check", None)):
            with refusing():
                arguments.check()
        raise Understood

    def ask(line: str) -> bool:
        monkeypatch.setattr("tyro.cli", stop)
        program, *words = shlex.split(line.partition(" > ")[0], comments=True)
        assert program == "mttt"
        try:
            main(words)
        except Understood:
            return True
        except SystemExit:
            return False

    return ask


def test_each_command_is_here():
    assert {words.split()[0] for words in PAGES} == set(COMMANDS)


@pytest.mark.parametrize("words", PAGES)
def test_help_is_a_page_with_an_example(words, here, monkeypatch, understood):
    monkeypatch.setenv("COLUMNS", "80")
    text, _ = here(*words.split(), "--help")
    usage, says, *_ = text.split("\n\n")
    assert max(map(len, text.removeprefix(usage).splitlines())) <= 80
    assert usage.startswith(f"usage: mttt {words}")
    assert re.match(r" *[A-Z].*\.", says, re.S), "a sentence"
    examples = re.findall(r"^  (mttt .*)$", text.partition("\nExample")[2], re.M)
    assert examples
    if not PAGES[words].below:
        assert all(line.startswith(f"mttt {words}") for line in examples)
        assert len(lines_of_examples(text)) == len(examples)
    for line in examples:
        assert understood(line), line


def lines_of_examples(text: str) -> list[str]:
    """All lines of the part with the examples: none is broken in two."""
    return [line for line in text.partition("\nExample")[2].splitlines()[1:] if line]


@pytest.mark.parametrize("words", PAGES)
def test_completion_knows_the_flags_of_the_help(words, here):
    text, _ = here(*words.split(), "--help")
    shown = re.findall(r"^\W*(?:-h, )?(--[a-z][\w.-]*)(?:, (--no-[\w.-]+))?", text, re.M) or [("--help", "")]
    known = {flag.name for flag in PAGES[words].flags}
    assert all(len(known & set(names)) == 1 for names in shown)
    assert len(known) == len(shown) or words == "train", "which shows the flags of what is chosen"


@pytest.mark.parametrize("line", ["mttt runs --jsn", "mttt train digit", "mttt bench layers --tokens 0", "mttt rums"])
def test_an_example_that_is_not_understood_would_be_found(line, understood):
    assert not understood(line)


def test_a_command_without_an_example_would_be_found():
    class Bare:
        """Does something."""

    class Full:
        """Does something
        longer.

        Examples:
            {prog} --far  # why
        """

    assert described(Bare) == ("Does something.", ())
    assert described(Full, "mttt go") == ("Does something longer.", ("mttt go --far  # why",))


@pytest.mark.parametrize("words", [[], ["runs"], ["bench"], ["bench", "layers"]], ids=" ".join)
def test_help_is_a_word_too(words, here):
    assert here("help", *words) == here(*words, "--help")


def test_a_command_of_commands_asks_for_one(here):
    assert here("bench", code=2)[1].startswith("mttt: mttt bench needs a command: layers, paper,")
