"""The daemon's own parts on a clock of their own, with a Codex, a disk and clients that are objects
of the test. One seed decides every delay and every order, so that a failure can be repeated:
`python -m tests.simulation --seed N --seconds 0 --workers 1`.
"""
