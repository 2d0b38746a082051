"""Checkpoints: snapshots of a work tree, kept in a repository of the daemon's own beside the
user's, and their restoration.

The user's objects, refs, index, HEAD, stash, hooks, reflogs and `git status` are never changed. The
daemon writes to two folders of the git directory: `trimpoint` and `trimpoint-checkpoints.git`.

`plumbing` runs git and handles files, `capture` takes checkpoints, `restore` restores them, and
`errors` has the errors. This package knows nothing of threads.
"""
