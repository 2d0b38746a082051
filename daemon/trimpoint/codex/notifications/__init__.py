"""Reads Codex's notifications.

`message` is a message of Codex, decoded once. `translate` turns notifications into facts, with
`settings_reports` for a thread's settings. `watches` follow the turn of a thread that no client
sees, `provider_compactions` recognizes Codex's own compactions, `foreign_usage` keeps the token
usage of threads that are not ours, and `client_sink` is the port through which messages reach
clients.
"""
