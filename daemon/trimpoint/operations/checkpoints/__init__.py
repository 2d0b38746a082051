"""Files around turns: `turn_captures` takes checkpoints before and after a turn, `file_reverts`
restores them.
"""
