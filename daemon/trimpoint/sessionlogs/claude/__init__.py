"""Claude Code's sessions: `discovery` finds them, `clears` finds the session that a `/clear`
continued in, `reader` reads a session with `rows`, `messages` and `branches`.
"""
