"""Holds the state of the screen, and how keys change it: no Textual, no I/O, no clock.

`transcript` holds the loaded history, `live` what streams into it, `viewport` which lines of it are
in sight, `details` what an opened row shows, `streaming` where a half-written answer is settled.
`status` is the status bar, `prompt` the composer's text and its history, `popup` the menu of
commands, `own_commands` those of the screen, `questions` what the agent asks, `filling` how it is
answered, `choosing` a filtered list, `thread_options` what is in it, `inspection` the screen of the
context, `keys` the help, `state` all together.
"""
