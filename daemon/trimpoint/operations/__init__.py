"""The application layer: work on a thread that takes several steps in Codex, git and the journal.

`sessions` connects a thread to Codex and dispatches its commands. `thread_starts` begins threads,
`imports` begins them from other programs' sessions, and `session_reactions` changes Codex threads
after recorded events. `runner` runs an operation from phase to phase (`phases`), `reverts` runs a
revert, `deletions` a deletion, and `messages` words the results. `session_uses` counts the requests
that an operation must not take the session from. `routing` routes Codex's notifications, `provider`
manages the provider threads of a thread, `history` decides what a ledger lacks of what Codex has
stored, `compaction` summarizes, and `checkpoints` saves and restores files. `notify` runs a program
of the person's, and `journal_troubles` tells of a disk that refuses. `build` puts them together.
"""
