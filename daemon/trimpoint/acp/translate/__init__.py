"""Translates between Codex's messages and ACP's. Pure.

`turns` translates a turn's notifications, `items` its items, `diffs` file changes, `outputs` the
output of commands, `history` a whole thread for `session/load`. `prompts` and `mcp` translate from
ACP to Codex. `settings` has modes, models and efforts; `permissions` and `forms` Codex's questions;
`endings` the end of a turn; `commands` and `status` the data of a session.
"""
