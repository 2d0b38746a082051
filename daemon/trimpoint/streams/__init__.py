"""Non-blocking byte streams: sockets, pipes, terminals and files.

`ends` are the ends to read from and write to. `reader` passes on received bytes, and `writer` sends
without waiting. `waiting` has functions that wait. Clients, Codex's pipes and editors all use them;
the caller decides how many bytes may be queued for a reader.
"""
