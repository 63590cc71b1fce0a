"""Wrong arguments to public constructors, layers and functions.

A mistake of the caller is a TypeError or ValueError of one line that our code raises, not one from deep inside of JAX.
What is accepted gives tokens of the shape and dtype that came in.
"""

import random
import re
import sys
import traceback
import warnings
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import mttt
from fuzz.ground import Case, Ground

IN_ONE = 5  # expressions in one case: a process takes longer to begin than an expression
OURS = str(Path(mttt.__file__).parent)
# Numbers that are large and allowed are not here: their arrays would be made.
_NUMBERS = "0 -1 1 2 3 5 2.0 0.5 -0.5 float('nan') float('inf') True None '4' 2**31 10**30 np.int32(2) np.float32(2)"
ODD = [*_NUMBERS.split(), "[]", "()", "{}", "object()", "int", "mttt", "jnp.ones(3)", "lambda *a, **k: None"]
_ARRAYS = [
    "jnp.ones((7, 12), int)",
    "jnp.ones((7, 12), bool)",
    "jnp.ones((7, 12), complex)",
    "jnp.ones((2, 7, 12))",
    "jnp.ones(12)",
    "jnp.ones(())",
    "jnp.ones((0, 12))",
    "jnp.ones((7, 0))",
    "jnp.ones((7, 11))",
    "jnp.full((7, 12), jnp.nan)",
    "jnp.ones((7, 12), jnp.float16) * 100",
    "np.ones((7, 12))",
]
# What a slot takes: right values, and odd ones besides ODD.
SLOTS: dict[str, tuple[list[str], list[str]]] = {
    "dim": (["12"], []),
    "heads": (["2", "3", "1"], []),
    "steps": (["1", "2", "4"], []),
    "few": (["1", "2", "3"], []),
    "even": (["2", "4"], []),
    "rate": (["1.0", "0.1", "jnp.asarray(0.5)", "jnp.linspace(1.0, 0.5, 3)"], ["jnp.ones((2, 2))", "jnp.ones(2, int)"]),
    "number": (["1.0", "3", "0.5", "jnp.asarray(0.5)"], ["jnp.asarray(0.0)"]),
    "learner": (
        ["mttt.LinearLearner", "mttt.MLPLearner", "partial(mttt.MLPLearner, factor={few})", "mttt.NadarayaWatson"],
        ["mttt.Zeros", "mttt.SelfAttention", "mttt.TTT", "partial(eqx.nn.Linear, 6)"],
    ),
    "start": (["mttt.Trained", "mttt.Zeros", "mttt.Frozen", "mttt.Memory"], ["mttt.MLPLearner", "mttt.Carry"]),
    "task": (
        ["mttt.Reconstruction", "partial(mttt.Reconstruction, decoder_norm=False, divisor={number})"],
        ["mttt.MLPLearner", "mttt.Task"],
    ),
    "optimizer": (
        ["mttt.GradientDescent({rate})", "mttt.OptaxOptimizer(optax.sgd, learning_rate={number})"],
        ["optax.sgd(0.1)", "mttt.GradientDescent", "mttt.OptaxOptimizer({odd})"],
    ),
    "batching": (["mttt.FullBatch({steps})", "mttt.MiniBatches({steps})"], ["mttt.FullBatch"]),
    "adjoint": (["mttt.Recompute()", "mttt.Recompute({few})", "mttt.Keep()"], ["mttt.Recompute"]),
    "kernel": (["mttt.GaussianKernel({number})", "mttt.ExponentialKernel({number})"], ["mttt.GaussianKernel"]),
    "tokens": (["jnp.ones((7, 12))", "jnp.ones((7, 12), jnp.bfloat16)"], _ARRAYS),
    "rows": (["jnp.ones((7, 12))"], _ARRAYS),
    "image": (["jnp.ones((8, 8, 1))"], [*_ARRAYS, "jnp.ones((8, 8, 1), jnp.uint8)", "jnp.ones((3, 8, 8, 1))"]),
    "mask": (["None", "jnp.arange(7) < 5", "jnp.zeros(7, bool)"], ["jnp.ones(6, bool)", "jnp.ones(7)", "[True] * 7"]),
    "shape": (["(8, 8, 1)"], ["(8, 8)", "(8, -8, 1)", "(8, 8.0, 1)", "(7, 7, 3)", "('a', 8, 1)"]),
    "size": (["mttt.Size({dim}, {few}, {heads})"], ["(12, 1)", "mttt.Size"]),
    "patch": (["4", "2"], []),
    "mixer": (["mttt.SelfAttention", "partial(mttt.TTT, learner={learner})"], ["mttt.MLPLearner"]),
    "trace": (["True", "False"], []),
    "lengths": (["[8, 16]", "(7,)"], ["[-3]", "[0.5]", "['8']"]),
    "inputs": (["[np.ones((3, 2)), np.ones((7, 2))]"], ["[np.ones(3), np.ones((3, 2))]", "[3]", "[np.ones(())]"]),
    "odd": (ODD, []),
}
CALL = "({tokens}, mask={mask}, trace={trace})"
TTT = (
    "mttt.TTT({dim}, {heads}, learner={learner}, start={start}, task={task}, optimizer={optimizer}, "
    "batching={batching}, adjoint={adjoint}, key=KEY)"
)
FORMS = [
    f"{TTT}{CALL}",
    f"{TTT}{CALL}",
    f"jax.eval_shape({TTT}, {{tokens}})",
    f"mttt.with_inner_loop({TTT}, steps={{steps}}, optimizer={{optimizer}}){CALL}",
    "mttt.inner_loop({start}({learner}({dim}, key=KEY)), {task}(12, {dim}, key=KEY), {optimizer}, {batching}, "
    "{tokens}, mask={mask})",
    "mttt.SelfAttention({dim}, {heads}, key=KEY)" + CALL,
    "mttt.LinearAttention({dim}, {heads}, divisor={number}, key=KEY)" + CALL,
    "mttt.EluLinearAttention({dim}, {heads}, key=KEY)" + CALL,
    "mttt.Linformer({dim}, {heads}, tokens=7, rank={few}, key=KEY)" + CALL,
    "mttt.Longformer({dim}, {heads}, window={even}, global_tokens={few}, key=KEY)" + CALL,
    "mttt.SOFT({dim}, {heads}, landmarks={few}, iterations={few}, key=KEY)" + CALL,
    "mttt.Hyena({dim}, {heads}, order={few}, width={few}, bands={few}, key=KEY)" + CALL,
    "mttt.ViT({shape}, {few}, size={size}, patch={patch}, mixer={mixer}, key=KEY)({image})",
    "mttt.Stack({dim}, {few}, {heads}, mixer={mixer}, key=KEY)" + CALL,
    "mttt.Block({mixer}({dim}, {heads}, key=KEY), {dim}, mlp_factor={few}, key=KEY)" + CALL,
    "{learner}({dim}, key=KEY)({rows})",
    "mttt.NadarayaWatson({dim}, kernel={kernel}).fit({rows}, {rows})({rows})",
    "mttt.bucket({few}, {lengths})",
    "mttt.pad_to_bucket({inputs}, {lengths})",
    "mttt.mean_of_real({tokens}, {mask})",
    "mttt.trainable({odd})",
    "mttt.kernels({odd})",
]


class Library:
    """Expressions with none, one or two odd arguments."""

    def prepare(self, ground: Ground) -> None:
        pass

    def case(self, rng: random.Random, here: Path, ground: Ground) -> Case:
        texts = [_expression(rng) for _ in range(IN_ONE)]
        return Case([partial(_evaluate, texts)], "")


def _expression(rng: random.Random) -> str:
    text = rng.choice(FORMS)
    left = rng.choice([0, 1, 1, 1, 2])
    while slots := re.findall(r"\{(\w+)\}", text):
        odd = left > 0 and rng.random() < 2 / (len(slots) + 1)
        left -= odd
        slot = rng.choice(slots)
        right, wrong = SLOTS[slot]
        text = text.replace("{" + slot + "}", rng.choice([*wrong, *wrong, *ODD] if odd else right), 1)
        text = text.replace("{}", "dict()")
    return text


def _evaluate(texts: list[str]) -> None:
    """Ends with an exit code that no case has if one of them is wrong, and says which."""
    jax.config.update("jax_traceback_filtering", "off")
    warnings.filterwarnings("ignore", category=SyntaxWarning)  # 3(…) is what we mean
    names = {"mttt": mttt, "jax": jax, "jnp": jnp, "np": np, "eqx": eqx, "optax": optax, "partial": partial}
    names["KEY"] = jax.random.key(0)
    wrong = 0
    for text in texts:
        print(text, flush=True)
        if (reason := _reason(text, names)) is not None:
            wrong += 1
            print(f"{text}\n    {reason}", file=sys.stderr, flush=True)
    raise SystemExit(3 if wrong else 0)


def _reason(text: str, names: dict) -> str | None:
    """What is wrong with how it ended, or None."""
    try:
        result = eval(compile(text, "<case>", "eval"), names)
    except (TypeError, ValueError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = str(error)
        signature = re.search("positional argument|keyword argument|abstract class", said)  # Python's words are clear
        if not place.filename.startswith((OURS, "<case>")) and not signature:
            return f"{type(error).__name__} from {place.filename}:{place.lineno}: {said.splitlines()[:1]}"
        return f"no sentence: {said!r}" if not said or "\n" in said else None
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} from {place.filename}:{place.lineno}: {str(error).splitlines()[:1]}"
    if isinstance(result, mttt.Mixed | mttt.Stacked) and not text.startswith("jax"):
        given = text.rpartition(")(")[2].partition(", mask")[0]
        tokens = eval(given, names)
        if (result.tokens.shape, result.tokens.dtype) != (tokens.shape, jnp.asarray(tokens).dtype):
            return f"tokens {tokens.shape} {tokens.dtype} became {result.tokens.shape} {result.tokens.dtype}"
    return None
