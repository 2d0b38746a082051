"""HTTP and WebSocket clients of the daemon.

`front` tells HTTP from JSON messages; `listening` opens TCP sockets (`tcp_listener`). `server`
answers requests: `channel` reads and writes them with h11, `access` decides which are answered,
`rest` answers the operations, `static_files` the page's files; `exchange` is a request and its
response, `problems` has the refusals. `websocket` carries JSON-RPC in frames, `event_stream` sends
events.
"""
