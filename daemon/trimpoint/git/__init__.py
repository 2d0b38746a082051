"""Checkpoints: a work tree as it was, kept in hidden refs of the user's repository, and brought back.

The law: the user's index, HEAD, branches, stash, hooks, reflogs and `git status` are not ours. We write objects,
refs under `refs/trimpoint/`, and one folder `trimpoint` in the git directory.

`plumbing` runs git and handles files, `capture` takes checkpoints, `restore` goes back to one, `errors`
names what can go wrong. Nothing here knows threads.
"""
