"""Connects a command to the daemon.

`endpoint` finds the socket, `connect` connects to it, `client` sends requests, `settings` reads
flags and configuration. `foreground`, `attach`, `relay`, `refusal` and `log_stream` serve `serve`
and `stdio`.
"""
