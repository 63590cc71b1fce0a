"""What programs cost, counted instead of measured."""

from mttt.count.flops import Flops as Flops, flops as flops
from mttt.count.shapes import shapes_of as shapes_of
