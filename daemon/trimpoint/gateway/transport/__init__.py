"""The connections of clients: `listeners` accept, `connection` talks to one client over a
`client_stream`, `wire` frames its messages, `framing_errors` answers what cannot be read.
"""
