"""Gemini CLI's sessions: `discovery` finds them, `prompt_log` reads the log of typed prompts,
`reader` reads a session with `rows` and `messages`.
"""
