"""The data types that the rules work on.

`events` is the format of the journal. `commands` are the commands that the daemon gives itself.
`state` is a thread's state, with its ledger in `ledger`. `operations` has the phases of operations,
and `operation_times` measures how long they take. `decision` has the outcome of a decision and the
configured policy. `usage` and `tokens` count tokens, `text_weight` those of text. `spelling` writes
commands as they are typed in a chat or a shell. `reviews` and `shell_commands` interpret items of
Codex, `clock` formats timestamps.
"""
