"""Measures trimpoint against its budgets: `scripts/bench`. How to read it: docs/benchmarks.md."""
