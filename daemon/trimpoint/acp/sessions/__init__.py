"""Sessions of an editor. A `session` has a thread of the daemon behind it, which `/new` replaces. A
`prompt` becomes a turn (`own_turn`) or a command (`command_run`); `questions` of Codex go to the
person. `opening` begins and loads sessions, `catalogue` is what is the same for all of them.
"""
