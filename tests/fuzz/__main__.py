"""python tests/fuzz lines|runs|data|library [--seconds 60] [--cases N] [--seed 0] [--only N] [--directory DIR]

Gives the program and the library what nobody should give them, for as long as is asked for. It is no part of the tests.
A case fails if it ends with a traceback, an exit code that the program does not have, a signal or not at all, or if
anything outside its own directory was written. The directories of failed cases are kept.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # tests/, as for pytest: `data` is the package of its tests


def main() -> int:
    arguments = _arguments()
    directory = Path(arguments.directory or tempfile.mkdtemp(prefix="mttt-fuzz-")).resolve()
    # Compiled programs are shared by all cases, and compiled as the tests compile them: quickly.
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(directory / "programs")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["COLUMNS"] = "100"
    from fuzz.ground import Ground
    from fuzz.kinds import KINDS

    ground = Ground(directory)
    failures = 0
    for name in arguments.kinds:
        kind = KINDS[name]()
        kind.prepare(ground)
        failures += _run(name, kind, ground, arguments)
    print(f"{failures} failed" + (f"; their directories are in {directory / 'cases'}" if failures else ""))
    if not failures and arguments.directory is None:
        shutil.rmtree(directory)
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__.split("\n\n")[1])
    parser.add_argument("kinds", nargs="+", choices=["lines", "runs", "data", "library"])
    parser.add_argument("--seconds", type=float, default=60, help="begin no case after this time")
    parser.add_argument("--cases", type=int, help="so many cases instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the case of this number, and no other")
    parser.add_argument("--directory", help="where to work; by default a new temporary directory")
    return parser.parse_args()


def _run(name: str, kind, ground, arguments: argparse.Namespace) -> int:
    begin, said, done, failed = time.monotonic(), time.monotonic(), 0, 0
    number, codes = arguments.only or 0, Counter()

    def tell() -> None:
        ends = ", ".join(f"{count} × {code}" for code, count in sorted(codes.items()))
        print(f"{name}: {done} cases, {failed} failed, {time.monotonic() - begin:.0f} s; exit codes {ends}", flush=True)

    while True:
        result = ground.run(kind, f"{name}-{arguments.seed}-{number}")
        done += 1
        codes.update(result.codes)
        if result.failure is not None:
            failed += 1
            print(f"\n{name} {number}: {result.failure}\n{result.story}")
            print(f"  again: python tests/fuzz {name} --seed {arguments.seed} --only {number}", flush=True)
        if time.monotonic() - said > 10:
            said = time.monotonic()
            tell()
        number += 1
        enough = done >= arguments.cases if arguments.cases else time.monotonic() - begin >= arguments.seconds
        if enough or arguments.only is not None:
            break
    tell()
    return failed


if __name__ == "__main__":
    sys.exit(main())
