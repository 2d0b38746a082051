"""The rules of trimpoint, as pure functions: no I/O, no clock, no randomness.

Five sub-packages, each importing only from those below it: `views` (what clients read), `decide`
(commands to events), `evolve` (events to state), `context` (what the model sees), `model` (events,
commands, state).
"""
