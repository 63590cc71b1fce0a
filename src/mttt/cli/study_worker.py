"""One of the processes of `mttt study … --jobs N`: it trains, and leaves the report to the one that started it.

python -m mttt.cli.study_worker PROCESSORS WORDS
"""

import sys

from mttt.cli.jobs import work_alone

if __name__ == "__main__":
    work_alone(sys.argv[1])  # before JAX counts the processors
    from mttt.cli.main import main

    main(["study", *sys.argv[2:], "--train-only"])
