"""Files: written whole or not at all, read only if they are regular and not too large."""

from mttt.files.read import NotRegular as NotRegular, TooLarge as TooLarge, contents as contents, regular as regular
from mttt.files.write import (
    temporary as temporary,
    whole as whole,
    write_json as write_json,
    write_text as write_text,
)
