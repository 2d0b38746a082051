"""Bytes from and to clients: `listeners` accept, `connection` reads, `outbox` writes,
`framing_errors` answers what cannot be read.
"""
