"""The rules of trimpoint as pure functions: no I/O, no clock, no randomness.

Each of the six sub-packages imports only from those after it in this list: `commands` (what a
person can type, declared once), `views` (what clients read), `decide` (turns commands into events),
`evolve` (applies events to the state), `context` (computes what the model sees), `model` (the types
of events, commands and state).
"""
