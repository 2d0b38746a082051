"""Checkpoints: a work tree as it was, kept in a repository of ours beside the user's, and brought
back.

Always true: the user's objects, refs, index, HEAD, stash, hooks, reflogs and `git status` are not
ours. We write in two folders of the git directory: `trimpoint` and `trimpoint-checkpoints.git`.

`plumbing` runs git and handles files, `capture` takes checkpoints, `restore` goes back to one,
`errors` names what can go wrong. Nothing here knows threads.
"""
