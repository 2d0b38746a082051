"""The command line.

`main` is the entry point. `thread_commands` holds the commands for a thread, `daemon_commands`
those for the daemon or without one, `programs` those that run until they are stopped;
`fleet_commands` and `session_commands` are `trimpoint fleet` and `trimpoint sessions`. `parsing`
parses arguments, `views` formats answers, `connection` connects to the daemon. `terminal` and
`keyboard` are output and input, `exits` the exit codes.
"""
