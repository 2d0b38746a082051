"""Codex's rollouts: `files` finds them, `reader` reads them with `rows`, `items`, `boundaries`,
`known` and `copies`.
"""
