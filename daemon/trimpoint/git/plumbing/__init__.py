"""Git commands and files.

`process` runs git, and `repository` finds the work tree of a folder. `shadow_repository` is a git
directory of the daemon's own, with its `initial_index`; `store` is the repository that keeps the
checkpoints; `locks` prevents two daemons from using them at once. `blobs` and `compare` read
objects. `worktree`, `permissions`, `staging` and `atomic_rename` handle files, and
`own_folders` the folders inside of the git directory.
"""
