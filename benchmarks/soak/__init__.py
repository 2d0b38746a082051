"""Keeps a daemon busy for as long as one likes and judges whether it stays as it was:
`scripts/soak`.
"""
