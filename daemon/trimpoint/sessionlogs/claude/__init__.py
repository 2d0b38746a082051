"""Claude Code's sessions: `discovery` finds them, `clears` says which was begun by a `/clear` in
which other, `reader` reads one with `rows`, `messages`, `branches` and `summaries`.
"""
