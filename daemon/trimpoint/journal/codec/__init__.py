"""Encodes payloads: `records` encodes events, `snapshots` encodes state, and `lazy_list` has
collections that are decoded on access.
"""
