"""Output for people: one module for each kind of answer; `approvals` asks, `age` words times and
counts.
"""
