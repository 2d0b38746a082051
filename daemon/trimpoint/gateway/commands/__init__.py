"""Commands and prompts. `typed_commands` finds slash commands in prompts, in large ones with
`large_input`, `slash_runner` executes them with `slash_outcomes`,
`turn_starts` starts turns, `agent_tools` answers the agent's tool calls, and `lone_messages` shows
messages outside of any turn.

`views` holds the answers that do not change a thread, `codex_tui` the parts for Codex's own
terminal UI.
"""
