"""The child process and the JSON-RPC connection to it.

`locate` finds the binary, `launch` builds its command line, `launch_requests` combines it with a
client's launch request, `process` runs the child, `peer` exchanges messages, and `initialize` reads
the handshake. `supervisor` restarts the child, and `orphans` ends children of a killed daemon.
`versions` and `experimental` tell what a version of Codex has, and `errors` defines the failures of
requests.
"""
