"""The connected clients and their requests.

`clients` holds the connected clients, `subscriptions` subscribes them to threads, `handshake`
answers `initialize`. `request` is one request with its one answer, `ordered_request` keeps the
order of Codex's answers, `dispatch` calls trimpoint's own methods, and `errors` turns exceptions
into error objects. `server_requests` sends Codex's requests to clients, `own_questions` those of
the daemon. `played_turns` shows a typed command as a turn. `lifecycle_notifications` and
`startup_notifications` send the notifications that Codex would send to each client.
`experimental_gate` refuses experimental requests of clients that did not ask for the experimental
API.
"""
