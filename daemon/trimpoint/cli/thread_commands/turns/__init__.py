"""Runs a turn in the terminal: `ask`, `probe` and its `prompt`. `running_turn` shows it and asks
the agent's questions.
"""
