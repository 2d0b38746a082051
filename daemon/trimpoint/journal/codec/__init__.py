"""Bytes of a record's payload: `records` for events, `snapshots` for state, `lazy_list` for what is
decoded when it is first read.
"""
