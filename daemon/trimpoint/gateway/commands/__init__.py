"""Commands and prompts: `typed_commands` finds commands in prompts, `slash_runner` carries them
out, `turn_starts` starts turns, `agent_tools` answers the agent's tools, `context_meters` reports
the meter.
"""
