"""One million tokens through one layer, and the exact gradient: in a process of its own, whose memory is measured.

python -m mttt.bench.million [TOKENS]
"""

import json
import subprocess
import sys
import time
from typing import Any

import jax

from mttt.bench.measure import resident_bytes
from mttt.bench.sequences import TTT_MLP, gradient_of

TOKENS = 2**20
TARGET = 8.0  # GiB


def million_bench(tokens: int = TOKENS) -> dict[str, Any]:
    """Seconds of one gradient, and the most memory that its process has had."""
    words = [sys.executable, "-m", "mttt.bench.million", str(tokens)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        "name": "million",
        "about": f"TTT-MLP, b = 16, d = 64: the exact gradient of {tokens:,} tokens, GiB resident",
        "tokens": [tokens],
        "seconds": found["seconds"],
        "resident": found["bytes"] / 2**30,
        "targets": {"resident": TARGET},
    }


def _measure(tokens: int) -> dict[str, float]:
    compiled, arguments = gradient_of(TTT_MLP, tokens)
    begin = time.perf_counter()
    jax.block_until_ready(compiled(*arguments))
    return {"seconds": time.perf_counter() - begin, "bytes": resident_bytes()}


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]))))
