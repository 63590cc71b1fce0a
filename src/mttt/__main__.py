"""python -m mttt"""

from mttt.cli.main import main

main()
