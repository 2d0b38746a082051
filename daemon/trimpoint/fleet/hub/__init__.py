"""The servers of a fleet: a `connection` to them, `messages` of a stream, and `errors`. No other
package imports nats.
"""
