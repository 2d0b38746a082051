"""The connections of clients. `listeners` open sockets and stdio, `acceptor` accepts clients, and
`connection` reads and writes one client's messages over a `client_stream`; `inbox` has those that
wait. `wire` frames messages, and `framing_errors` answers bytes that are not a message.
"""
