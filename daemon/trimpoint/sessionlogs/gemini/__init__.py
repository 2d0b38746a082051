"""Gemini CLI's sessions: `discovery` finds them, `prompt_log` reads what was typed, `reader` reads
one with `rows` and `messages`.
"""
