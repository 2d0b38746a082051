"""The client of the daemon behind the screen.

`link` finds the daemon and connects to it, `changes` tells the screen that there is something new,
`following` keeps a thread's state true by what the daemon sends, `inquiries` ask for what other
screens show, `chat` is what keys can do, and survives the end of the connection.
"""
