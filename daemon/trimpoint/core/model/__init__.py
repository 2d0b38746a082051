"""The data that the rules work on.

`events` is the journal's format, `commands` what can be asked of a thread, `state` the fold of its
events (with `ledger`), `operations` the phases of work in several steps and `operation_times` how
long they took. `decision` holds the outcome of a decision and the configured policy, `usage` and
`tokens` count tokens. `slash` lists the slash commands and reads them, with `slash_arguments`, into
`invocations`. `reviews` and `shell_commands` know what Codex records of these, `clock` writes
timestamps, `lenient` reads JSON of any shape.
"""
