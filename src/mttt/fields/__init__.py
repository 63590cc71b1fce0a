"""Plain frozen dataclasses: to JSON and back, what can be chosen in them, where two differ, and what is wrong."""

from mttt.fields.codec import decode as decode, encode as encode
from mttt.fields.difference import Difference as Difference, differences as differences
from mttt.fields.error import FieldError as FieldError
from mttt.fields.kinds import choices as choices, possible_choices as possible_choices
