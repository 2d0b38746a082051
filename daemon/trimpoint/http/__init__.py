"""HTTP and WebSocket clients of the daemon.

`front` tells HTTP from JSON messages, `server` answers requests, `channel` reads and writes them with h11,
`websocket` carries JSON-RPC in WebSocket frames.
"""
