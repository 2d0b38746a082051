"""The connected clients and their requests.

`clients` holds the connected clients, `subscriptions` subscribes them to threads, `handshake`
answers `initialize`, `requests` is about what they ask. `server_requests` sends Codex's requests to
clients, `answers` recognizes their answers, `own_questions` sends requests of the daemon.
`played_turns` shows a typed command as a turn.
`lifecycle_notifications` and `startup_notifications` send the notifications that Codex would send
to each client, `codex_tui` knows those of Codex's own terminal UI. `pace` slows Codex down for slow
clients, `login_codes` are for browsers, `unused` ends a daemon that nobody uses.
"""
