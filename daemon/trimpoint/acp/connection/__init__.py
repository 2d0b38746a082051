"""The connections: `editor` sends messages to the editor, `daemon` to the daemon. Both use the
JSON-RPC `peer`.
"""
