"""By hand: kill one of two processes at random moments, again and again; the run ends as one that nobody disturbed.

python tests/devices/kills.py DIRECTORY [COUNT] [SEED]
"""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cli.harness import TINY, mttt
from devices.test_processes import assert_alike, end, pair

WORDS = ["train", "digits", *TINY, "--epochs", "12", "--checkpoint-every", "0.5", "--evaluate-every", "2"]


def main(directory, count, seed):
    rng = random.Random(seed)
    one, two = directory / "one", directory / "two"
    one.mkdir(parents=True)
    two.mkdir()
    mttt(*WORDS, "--run", "run", cwd=one)
    words = [*WORDS, "--run", "run"]
    for number in range(count):
        processes, victim, seconds = pair(words, two), rng.choice([0, 1]), rng.uniform(3, 14)
        time.sleep(seconds)
        running = all(process.poll() is None for process in processes)
        processes[victim].kill()
        begin = time.monotonic()
        codes, printed = end(processes)
        last = (printed[1 - victim][1].strip().splitlines() or [""])[-1]
        took = time.monotonic() - begin
        print(
            f"{number}: killed {victim} after {seconds:.1f} s (running: {running}), codes {codes}, "
            f"{took:.1f} s: {last[:120]}",
            flush=True,
        )
        if codes == [0, 0]:
            break
    codes, printed = end(pair(words, two))
    assert codes == [0, 0], printed
    assert_alike(two / "run", one / "run")
    print("the same metrics as one process that nobody disturbed")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, [*sys.argv[2:], "10", "0"][:2]))
