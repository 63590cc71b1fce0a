"""Watching a model learn: what the page of `mttt watch` shows, computed and served on this machine only."""
