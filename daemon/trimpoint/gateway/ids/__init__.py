"""Translates ids in messages. `identity` and `idmap` exchange stable ids and Codex's ids, `handles`
keeps the handles of different clients apart (`handle_types` lists them), `named_thread` finds the
thread of a request, and `working_directory` resolves paths against a client's working directory.
"""
