"""Formats answers for people. One module for each kind of answer; `approvals` asks questions, `age`
formats times and counts.
"""
