"""From Codex's words to ACP's and back; pure.

`turns` translates what is said during a turn, `items` what a turn is made of, `diffs` file changes,
`outputs` the output of commands, `history` a whole thread for `session/load`. `prompts` and `mcp`
go the other way. `settings` has modes, models and efforts; `permissions` and `forms` Codex's
questions; `endings` how a turn ended; `meter`, `commands` and `titles` what is said of a session.
"""
