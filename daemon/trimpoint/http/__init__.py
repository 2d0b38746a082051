"""HTTP and WebSocket clients of the daemon.

`front` tells HTTP from JSON messages; `listening` opens TCP sockets (`tcp_listener`). `server`
answers requests: `channel` reads and writes them with h11, `admission` decides which are answered
(`credentials`, `token_file`), `operations` is the table of REST operations, `api` answers them,
`openapi` describes them, `problems` has the refusals. `websocket` carries JSON-RPC in frames,
`event_stream` sends events.
"""
