"""Measures trimpoint against its budgets: `scripts/bench`. docs/internals/benchmarks.md says how to
read it.

`budgets` has a module for each kind of row, and `rows` their table. `programs` run as processes of
their own beside what is measured, `studies` are run by themselves and have no budget, `soak` runs
for hours. `stage`, `daemons`, `threads` and `wire` set up what is measured; `measures` and `report`
have the results.
"""
