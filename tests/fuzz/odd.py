"""Words and values that nobody should type."""

import random

NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "64",
    "1000000",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "0.5",
    "-0.0",
    "99999999999999999999",
    "2147483647",
    "2147483648",
    "-9223372036854775809",
    "0x10",
    "1_000",
    "1,5",
    "1e400",
    "٣",
    "½",
    "²",
    "1/2",
]
TEXTS = [
    "",
    " ",
    " 4",
    "None",
    "null",
    "true",
    "False",
    "[]",
    "{}",
    "-",
    "--",
    "---",
    "=",
    "--=3",
    "@words",
    "a\nb",
    "tab\there",
    "\x1b[31mred\x1b[0m",
    "\x07\x08\x7f\x9b",
    "\u202eesrever",
    "\udcff\udcfe",
    "ä" * 300,
    "x" * 5000,
    "%s%n{0}",
    "[bold]rich[/nothing]",
    "💥",
    "nowhere",
    "-h",
]
VALUES = [*NUMBERS, *TEXTS]


def value(rng: random.Random) -> str:
    return rng.choice(NUMBERS if rng.random() < 0.6 else TEXTS)


def misspelt(word: str, rng: random.Random) -> str:
    """A word with a letter less, more, or another."""
    if not word:
        return "a"
    place = rng.randrange(len(word))
    return word[:place] + rng.choice(["", "e", "-", "é", "\x1b", word[place] * 2, "."]) + word[place + 1 :]


def safe(word: str) -> str:
    """No word leads out of the directory: what is typed there is meant, and the program would be right to write it."""
    return word.replace("..", "._").replace("/", "_") if "/" in word or ".." in word else word


def json_value(rng: random.Random, depth: int = 0) -> object:
    """Something that JSON can say."""
    plain = [None, True, False, 0, -1, 3, 2.5, 1e308, 10**30, "", "30", "zzz", "a\nb", "\x1b[31m", "digits", "ttt"]
    plain += [float("nan"), float("inf"), "\ud800", "x" * 2000]
    if depth < 3 and rng.random() < 0.3:
        inside = [json_value(rng, depth + 1) for _ in range(rng.randrange(4))]
        return inside if rng.random() < 0.5 else {rng.choice(["kind", "a", "spec", "path"]): part for part in inside}
    return rng.choice(plain)
