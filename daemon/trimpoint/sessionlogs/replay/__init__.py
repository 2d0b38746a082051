"""Replays sessions call by call, with and without trims: `story` makes the calls of a session, from
a log or from a journal of trimpoint's own (`own`), and `policies` sends them again.
"""
