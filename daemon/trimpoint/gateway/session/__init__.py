"""A client and its requests.

`clients` is the list of them, `subscriptions` which of them take part in a thread, `handshake`
answers initialize, `request` is one request and its answer, `dispatch` calls our own methods,
`ordered_request` keeps the order of answers, `errors` turns exceptions into error objects.
`server_requests` asks clients for Codex and `own_questions` for the daemon, `played_turns` shows a
typed command as a turn, `lifecycle_notifications` and `startup_notifications` inform them,
`experimental_gate` hides what a client did not opt in to.
"""
