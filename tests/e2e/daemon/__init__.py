"""The daemon itself: killed at any instant, with many clients, short of memory; and its logs and
metrics.
"""
