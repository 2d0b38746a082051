"""Translates Codex's notifications.

`message` is one of its messages, decoded once; `translate` turns notifications into facts,
`watches` follow the turn of a thread that no client sees, `provider_compactions` recognizes Codex's
own compactions, `foreign_usage` counts tokens of threads that are not ours, `client_sink` is the
port to which notifications for clients are sent.
"""
