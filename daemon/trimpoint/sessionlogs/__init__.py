"""Sessions of all agents, read from their own files: one sub-package for each agent, one form for
all (docs/session-logs.md).

A reader is a pure function from lines to records: a state machine that simulates the live window
(`window`, `ranges`). `records` numbers and collects what it finds. `sessions` reads files, twice;
`opening` opens them; `export` writes the records down. Nothing here ever writes into a folder of an
agent.
"""
