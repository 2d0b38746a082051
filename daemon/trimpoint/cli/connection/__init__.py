"""Connects a command to the daemon.

`settings` reads flags and configuration, `sockets` finds where the daemon listens (`endpoint` has
its published socket), `which_daemon` asks which one it is, `background` starts one, and `connect`
joins it all; `client` sends requests, with the Codex of `profile`, and `refusals` makes errors of
what was refused. `known_threads` and `thread_titles` list the threads, `browser` opens the page.
`serving` runs a daemon, `attach` joins a client on stdin and stdout to one (`relay` copies the
bytes).
"""
