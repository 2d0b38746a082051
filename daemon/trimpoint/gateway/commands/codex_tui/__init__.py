"""Parts for Codex's own terminal UI: `skill_menu` lists the commands, `turn_picker` asks for a
turn, `status_line` shows the meter in the footer, and `trim_notices`, `lost_codex` and
`clear_hint` show messages.
"""
