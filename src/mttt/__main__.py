"""python -m mttt"""

try:
    from mttt.cli.main import main
except KeyboardInterrupt:  # from then on `main` sees to it
    raise SystemExit(130) from None

main()
