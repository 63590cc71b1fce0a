"""FLOPs of one operation, by the rules of XLA's cost analysis, so that the two counts can be compared.

A product of matrices is 2·b·m·n·k; an operation on numbers is one for each number that comes out, integers and complex
numbers too; a reduction is one for each number that disappears; a Fourier transform of rows of N numbers is 8·⌊log₂ N⌋
for each number that goes in; a sort of m numbers is m·⌈log₂ m⌉. Transcendental functions (exp, tanh, sine, square root)
are not counted, and neither is what only moves numbers or draws random ones.

Where XLA counts its own way of computing something instead, we count the operation: a cumulative sum is one for each
number, the position of a maximum is a reduction, a convolution multiplies its padding too.
"""

import math
from collections.abc import Callable
from typing import Any

from jax.extend.core import JaxprEqn


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


ELEMENTWISE = _names("""
    abs add add_any and ceil clamp complex convert_element_type div eq exp2 floor ge gt imag is_finite le lt max min mul
    ne neg nextafter not or population_count real reduce_precision rem round select_n shift_left shift_right_arithmetic
    shift_right_logical sign square sub xor cumlogsumexp cummax cummin cumprod cumsum
""")
REDUCTIONS = _names("""
    argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor
""")
TRANSCENDENTAL = _names("""
    acos acosh asin asinh atan atan2 atanh cbrt cos cosh digamma erf erf_inv erfc exp expm1 lgamma log log1p pow rsqrt
    sin sinh sqrt tan tanh
""")
MOVING = _names("""
    bitcast_convert_type broadcast_in_dim concatenate copy copy_p device_put dynamic_slice dynamic_update_slice gather
    iota optimization_barrier pad reshape rev scatter sharding_constraint slice split squeeze stop_gradient tile
    transpose unstack
""")
DRAWING = _names("""
    random_bits random_clone random_fold_in random_gamma random_seed random_split random_unwrap random_wrap
    rng_bit_generator rng_uniform threefry2x32
""")


def _shape(atom: Any) -> tuple[int, ...]:
    return atom.aval.shape


def _size(atom: Any) -> int:
    return math.prod(_shape(atom))


def _dot_general(equation: JaxprEqn) -> int:
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = _shape(equation.invars[0])
    return 2 * _size(equation.outvars[0]) * math.prod(left[axis] for axis in contracted)


def _convolution(equation: JaxprEqn) -> int:
    kernel = _shape(equation.invars[1])
    features = equation.params["dimension_numbers"].rhs_spec[0]
    return 2 * _size(equation.outvars[0]) * math.prod(kernel) // kernel[features]


def _fft(equation: JaxprEqn) -> int:
    logarithms = math.prod(int(length).bit_length() - 1 for length in equation.params["fft_lengths"])
    return 8 * logarithms * _size(equation.invars[0])


def _integer_pow(equation: JaxprEqn) -> int:
    """Squarings, products of them, and one more for a reciprocal."""
    power = equation.params["y"]
    bits = abs(power)
    products = bits.bit_length() + bits.bit_count() - 2 if bits else 0
    return (products + (power < 0)) * _size(equation.outvars[0])


def _sort(equation: JaxprEqn) -> int:
    size = _size(equation.invars[0])
    return size * math.ceil(math.log2(size)) if size else 0


SPECIAL: dict[str, Callable[[JaxprEqn], int]] = {
    "dot_general": _dot_general,
    "conv_general_dilated": _convolution,
    "fft": _fft,
    "integer_pow": _integer_pow,
    "logistic": lambda equation: 3 * _size(equation.outvars[0]),  # besides exp: negate, add, divide
    "one_minus_square": lambda equation: 2 * _size(equation.outvars[0]),  # JAX 0.12, of tanh's derivative
    "sort": _sort,
    **dict.fromkeys(
        ("scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max"),
        lambda equation: _size(equation.invars[2]),
    ),
}


def operations(equation: JaxprEqn) -> int:
    """FLOPs of an equation that holds no other program."""
    name = equation.primitive.name
    if name in TRANSCENDENTAL | MOVING | DRAWING:
        return 0
    if name in ELEMENTWISE:
        return _size(equation.outvars[0])
    if name in REDUCTIONS:
        return max(0, _size(equation.invars[0]) - _size(equation.outvars[0]))
    if name in SPECIAL:
        return SPECIAL[name](equation)
    raise ValueError(f"no rule says how many FLOPs {name} takes; add one to mttt/count/rules.py")
