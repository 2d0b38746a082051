"""Publishes the threads of a machine to a team, and accepts commands from it, through NATS
JetStream.

`names` defines subjects, `content` which data leaves the machine, `batches` reads a journal's
events in batches. `hub` connects to the servers. `mirror` keeps the hub's copy of each thread
complete, `presence` publishes the overview, `commands` are those of people on other machines,
`service` runs all of that in a daemon. `reading` is the side of a person, `viewing` offers it to
the daemon's clients; `roles`, `keys` and `setup` are for the people who run the servers. Only `hub`
imports nats, and `keys` nkeys; a daemon without `[fleet]` in its configuration imports nothing of
this package.
"""
