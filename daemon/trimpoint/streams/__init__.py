"""Non-blocking byte streams: sockets, pipes, terminals and files.

`ends` are what is read and written, `reader` hands over what arrives, `writer` sends without
waiting, `waiting` reads and writes for those that may wait. Clients, Codex's pipes and editors all
use the same four; how much may wait for a reader is for the caller to say.
"""
