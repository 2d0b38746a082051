"""Joins a client on stdin and stdout to a daemon: `attach` to one that runs; `refusal` answers a
client that cannot be served.
"""
