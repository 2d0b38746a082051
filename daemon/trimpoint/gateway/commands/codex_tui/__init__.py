"""For Codex's own terminal UI: `skill_menu` lists the commands, `turn_picker` asks for a turn,
`status_line` has the footer's meter, `trim_notices` and `clear_hint` say what it would not see.
"""
