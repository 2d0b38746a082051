"""The part of the daemon that clients connect to.

`gateway` routes each request to its handler, of which `routes` has the table. `client_side` and
`client_events` send notifications, `profiles` holds the running launch profiles. `session` is one
client's connection and requests, `ids` translates thread ids and handles, `commands` executes slash
commands, `methods` handles methods, and `metrics` collects counters.
"""
