"""Commands and prompts: `typed_commands` finds commands in prompts, `slash_runner` carries them out
with `slash_requests` and `slash_outcomes`, `turn_starts` starts turns, `agent_tools` with
`history_answers` answers the agent's tools, `context_meters` reports the meter, `history_searches`
answers `/search`.

For Codex's own terminal UI: `skill_menu` lists the commands, `turn_picker` asks for a turn,
`status_line` has the footer's meter, `trim_notices` and `clear_hint` say what it would not see.
"""
