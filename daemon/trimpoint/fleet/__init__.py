"""Shows a machine's threads to a team, and takes commands from it, through NATS JetStream.

`names` has the subjects, `content` what leaves the machine, `batches` the events of a journal as
they are sent, `hub` the connection, `mirror` the repair of what the hub has, `presence` the
overview, `commands` those of people on other machines, `service` all of that in a daemon. `reading`
is for people, `viewing` gives it to a daemon's clients; `roles`, `keys` and `setup` are for people
who run the servers. Only `hub` imports nats, and `keys` nkeys; a daemon without `[fleet]` imports
nothing of this package.
"""
