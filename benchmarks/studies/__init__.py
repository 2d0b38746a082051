"""Measurements without a budget, each run by itself with `python -m`."""
