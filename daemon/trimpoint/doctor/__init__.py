"""Checks the installation on this machine, for `trimpoint doctor`.

Always true: the checks change nothing. No file is created, touched or locked, and no daemon or
Codex is started; a running daemon is sent one request that it answers at once. The output contains
no secret and no content of a conversation.
"""
