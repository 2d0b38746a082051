"""The files around turns. `turn_captures` captures them before and after each turn, `late_captures`
after a turn that was not captured in time, and `file_reverts` restores them.
"""
