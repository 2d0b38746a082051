"""Commands and prompts: `typed_commands` finds commands in prompts, `slash_runner` carries them out
with `slash_requests` and `slash_outcomes`, `turn_starts` starts turns, `agent_tools` answers the
agent's tools, `lone_messages` says something outside of any turn.

`views` has the answers that only look at a thread, `codex_tui` what Codex's own terminal UI needs.
"""
