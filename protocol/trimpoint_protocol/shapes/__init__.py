"""The parameters and results of our own methods: a module for each beginning of a method's name
(`context` for `context/…`; `history` and `fleet` likewise, `agent_sessions` for `sessions/…`),
made of the `structs`. `methods` is the table of them all. Nothing is imported here: the command
line's parser needs `history_kinds` alone.
"""
