"""The servers of a fleet: `connection` to them, `messages` read from a stream, and `errors`. No
other package imports nats.
"""
