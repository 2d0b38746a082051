"""Checkpoints: `capture` takes a checkpoint, `omissions` records what it lacks, and `untracked`
chooses the untracked files to leave out. `refs` keeps and finds checkpoints, `inventory` lists them
by folder, and `upkeep` keeps the store small.
"""
