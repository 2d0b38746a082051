"""One module for each command that runs until it is ended: the daemon itself and what stands
between a client and it.

`serve` is the daemon (`detach` has it go on in the background); `stdio` serves the client that
spawned it, `app_server` takes the arguments of `codex app-server`, `proxy` relays to a daemon's
socket, `acp` is the agent of editors. `desktop` is the window, `demo` the demonstration.
`codex_itself` hands what is not ours to the real Codex.
"""
