"""`trimpoint chat`: a conversation in the terminal. It needs the extra `trimpoint[tui]`.

`model` is what the screen shows, pure. `session` talks to the daemon. `widgets` draws with Textual;
nothing else imports it. `command` begins: it finds the thread and says what is missing.
`terminal` knows whether there is one.
"""
