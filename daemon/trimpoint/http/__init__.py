"""HTTP and WebSocket clients of the daemon.

`front` distinguishes HTTP from JSON messages; `listening` opens TCP sockets (`tcp_listener`).
`server` answers requests: `channel` reads and writes them with h11, `access` decides which requests
are allowed, `rest` answers the REST operations, `static_files` serves the page, `documents` those
of the documents; `exchange` has requests and responses as values, `problems` the error responses.
`websocket` carries JSON-RPC in frames, `event_stream` sends events.
"""
