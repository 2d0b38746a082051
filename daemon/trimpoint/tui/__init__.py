"""`trimpoint chat`: a terminal UI.

`model` holds the state of the screen and is pure, `session` communicates with the daemon, `widgets`
draws with Textual, which nothing else imports. `command` is the entry point: it chooses the thread.
`terminal` checks whether there is a terminal.
"""
