"""Checkpoints: a work tree as it was, kept in hidden refs of the user's repository, and brought back.

The law: the user's index, HEAD, branches, stash, hooks, reflogs and `git status` are not ours. We write objects,
refs under `refs/trimpoint/`, and one folder `trimpoint` in the git directory.

`repository` finds the work tree, `capture` makes a commit of it, `refs` keeps and lists such commits, `compare`
tells how two of them differ, `plan` what a restore would touch, `restore` does it. `private` is our own git
directory beside the user's, `process` runs git. Nothing here knows threads.
"""
