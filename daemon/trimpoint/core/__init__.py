"""The rules of trimpoint as pure functions: no I/O, no clock, no randomness.

Each of the six sub-packages imports only from those after it in this list: `views` (what clients
read), `decide` (turns commands into events), `evolve` (applies events to the state), `context`
(computes what the model sees), `commands` (what a person can type, declared once), `model` (the
types of events, commands and state). Only the answer of a command is a view; the command imports it
when it runs.
"""
