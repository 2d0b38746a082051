"""The sessions of an editor. A `session` uses a thread of the daemon, which `/new` replaces by
another one. A `prompt` becomes a turn (`own_turn`) or a command (`command_run`); `questions` of
Codex are asked through the editor. `thread_link` starts and resumes the thread, `catalogue` holds
what all sessions share.
"""
