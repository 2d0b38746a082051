"""What the screen shows and how keys change it: no Textual, no I/O, no clock.

`transcript` holds the loaded history, `live` what streams into it, `viewport` which lines of it are
in sight, `details` what an opened row shows, `streaming` where a half-written answer is settled.
`status` is the status bar, `prompt` the composer's text and its history, `popup` the menu of
commands, `questions` what the agent asks, `choosing` the filtered lists, `state` all together.
"""
