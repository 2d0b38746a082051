"""Keeps a daemon busy for a chosen time and checks that its memory and speed do not change:
`scripts/soak`.
"""
