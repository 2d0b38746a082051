"""The child process and the JSON-RPC connection to it.

`locate` finds the binary, `launch` prepares its command line, `process` runs it, `peer` sends
requests and receives answers, `initialize` is the handshake,
`supervisor` restarts the child, `orphans` ends children of a killed daemon. `versions` and
`experimental` say what a version can do, `errors` names failures.
"""
