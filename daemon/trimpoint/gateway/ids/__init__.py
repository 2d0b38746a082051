"""Ids on their way: `identity` and `idmap` exchange stable ids and Codex's, `handles` keeps the
handles of clients apart (`handle_types` lists them), `working_directory` resolves a client's
folder.
"""
