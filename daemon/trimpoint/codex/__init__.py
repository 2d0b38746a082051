"""A client of `codex app-server`. It knows nothing of trimpoint's threads, journals and clients.

`appserver` runs the child process and exchanges JSON-RPC messages with it, `notifications` reads
Codex's notifications, and `history` reads Codex's stored conversations.
"""
