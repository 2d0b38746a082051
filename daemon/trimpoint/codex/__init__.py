"""A client of `codex app-server`. It knows nothing of threads, journals and clients of ours.

`appserver` runs the child process and speaks JSON-RPC with it, `notifications` reads what it
reports, `history` reads what it has stored.
"""
