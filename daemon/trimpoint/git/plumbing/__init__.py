"""Git commands and files.

`process` runs git, `repository` finds it, `shadow_repository` is a git directory of our own with
its `initial_index`, `store` the repository that keeps the checkpoints, `locks` keeps two daemons
apart, `blobs` and `compare` read objects, `worktree`, `staging`, `atomic_rename` and `open_files`
handle files.
"""
