"""Applies events to a thread's state. The daemon, snapshots and tests all use this code.

`evolve` applies any event; `turn_folds`, `revert_folds`, `undo_folds`, `usage_folds`, `retry_folds`
and `compaction_attempts` apply the events of one subject.
"""
