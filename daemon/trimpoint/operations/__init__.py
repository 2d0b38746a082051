"""The application layer: work on a thread that takes several steps and several parties.

`sessions` is the entry: it connects a thread to Codex and takes its commands. `thread_starts`
begins threads, `session_reactions` does what their events ask for. `runner` carries an operation
from phase to phase (`phases`); `reverts` goes back to a turn; `messages` words the results.
`routing` sorts what Codex reports, `provider` manages the Codex threads behind a thread,
`compaction` summarizes, `checkpoints` saves and restores files.
"""
