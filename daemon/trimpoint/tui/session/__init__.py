"""The client of the daemon behind the screen.

`link` finds the daemon and connects to it, `changes` wakes the screen when the state has changed,
`following` updates a thread's state from the daemon's messages, `inquiries` requests the data of
other screens, `drafts` keeps what was not sent, `chat` offers the actions of the keys and
reconnects after a lost connection.
"""
