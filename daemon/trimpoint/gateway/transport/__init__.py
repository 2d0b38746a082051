"""The connections of clients. `listeners` accept them, `connection` reads and writes one client's
messages over a `client_stream`, `wire` frames messages, and `framing_errors` answers bytes that are
not a message.
"""
