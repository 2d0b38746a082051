"""Codex's sessions: `files` finds the rollouts, `reader` reads them with `rows`, `items`,
`boundaries`, `answers`, `known`, `copies`, `oldest` and `usage`.
"""
