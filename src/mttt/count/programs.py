"""Equations of a jaxpr that hold a program of their own."""

from jax.extend.core import ClosedJaxpr, JaxprEqn

# These do what the program in them does. That of a function with a derivative of its own is the function.
CALLS = frozenset(["jit", "pjit", "closed_call", "checkpoint", "remat2", "custom_jvp_call", "custom_vjp_call"])


def called(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The program that an equation calls, if calling it is all that the equation does."""
    if equation.primitive.name not in CALLS:
        return None
    parameters = equation.params
    inside = parameters["jaxpr"] if "jaxpr" in parameters else parameters["call_jaxpr"]
    return inside if isinstance(inside, ClosedJaxpr) else ClosedJaxpr(inside, ())


def scan_parts(equation: JaxprEqn) -> tuple[int, int]:
    """How many operands of a scan are constants, and how many after them are carried. JAX 0.12 says it as trees."""
    parameters = equation.params
    if "num_consts" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    constants, carried, _ = parameters["ft_in"].unpack()
    return len(constants), len(carried)


def refuse_while(equation: JaxprEqn) -> None:
    """How often a `while` loop runs is not known before it runs."""
    if equation.primitive.name == "while":
        raise ValueError(
            "a while loop has no known number of iterations, so its FLOPs cannot be counted; "
            "use jax.lax.scan, or jax.lax.fori_loop with bounds that are Python integers"
        )
