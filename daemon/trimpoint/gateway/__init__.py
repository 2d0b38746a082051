"""Clients: how they connect, what they are sent, and what becomes of what they say.

The transport edge knows nothing of the domain: `listeners` lets clients in and hands over one `Transport`
each, `connection` turns its bytes into decoded messages and back, `outbox` keeps what it has not read yet.
"""
