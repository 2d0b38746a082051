"""Ids on their way: `identity` and `idmap` exchange stable ids and Codex's, `handles` keeps the
handles of clients apart, `working_directory` resolves a client's folder.
"""
