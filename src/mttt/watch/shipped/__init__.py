"""Models that ship with the package, made by `python -m mttt.watch.ship`."""
