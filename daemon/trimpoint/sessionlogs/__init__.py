"""Reads the sessions of all agents from their own files: one sub-package for each agent, one
unified form for all (docs/session-logs.md).

A reader is a pure state machine from lines to records, which simulates the agent's live context
(`window`, `ranges`). `records` numbers and collects the records. `sessions` reads the files, twice;
`opening` opens them; `export` writes records. Nothing here ever writes into a folder of an agent.
"""
