"""One module for each command that runs until it is stopped.

`serve` is the daemon; `stdio` connects the client that
started it to the daemon; `app_server` accepts the arguments of `codex app-server`; `proxy` relays
to a daemon's socket; `acp` is the agent for ACP editors; `desktop` is the window, `demo` the
demonstration. `codex_itself` runs the real Codex for commands that are not trimpoint's.
"""
