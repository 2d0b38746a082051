"""The command line.

`main` is the entry. `thread_commands` act on a thread, `daemon_commands` on the daemon or without
one, `programs` run until they are ended; `fleet_commands` and `session_commands` are those of
`trimpoint fleet` and `trimpoint sessions`. `parsing` reads arguments, `views` prints, `connection`
reaches the daemon. `terminal` and `keyboard` are the screen and the keys, `exits` the exit codes.
"""
