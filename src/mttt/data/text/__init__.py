"""Text: files of it as bytes, and windows of them."""

from mttt.data.text.alphabet import BYTES as BYTES
from mttt.data.text.find import FoundText as FoundText, find_text as find_text, shakespeare as shakespeare
from mttt.data.text.inspect import TextInspection as TextInspection, inspect_text as inspect_text
from mttt.data.text.split import split_text as split_text
from mttt.data.text.text import Letters as Letters, Text as Text, TextFiles as TextFiles
from mttt.data.text.windows import EvenWindows as EvenWindows, MovedWindows as MovedWindows, Windows as Windows
