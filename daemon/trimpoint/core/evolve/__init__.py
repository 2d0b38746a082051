"""Events to state: the one fold that the daemon, snapshots and tests share.

`evolve` applies any event; `turn_folds`, `revert_folds`, `undo_folds`, `usage_folds`, `retry_folds`
and `compaction_attempts` apply the events of one subject.
"""
