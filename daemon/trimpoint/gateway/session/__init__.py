"""The connected clients and their requests.

`clients` holds the connected clients, `subscriptions` subscribes them to threads, and `handshake`
answers `initialize`. `requests` handles their requests. `server_requests` sends Codex's requests to
clients, and `own_questions` those of the daemon. `played_turns` shows a typed command as a turn,
and `compaction_turns` the turn of any other compaction.
`lifecycle_notifications` and `startup_notifications` send the notifications that Codex would send
to each client, and `codex_tui` has the rules for Codex's own terminal UI. `pace` pauses Codex for
slow clients, `login_codes` issues codes for browsers, and `unused` decides when an unused daemon
may end.
"""
