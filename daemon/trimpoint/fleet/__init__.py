"""Shows a machine's threads to a team, and takes commands from it, through NATS JetStream.

`names` has the subjects, `content` what leaves the machine, `batches` the events of a journal as
they are sent, `hub` a connection, `messages` what is read of a stream, `errors` what goes wrong at
the hub, `mirror` the repair of what the hub has, `presence` the overview, `requests` commands as
they are sent, `answering` the host's side of them, `service` all of that in a daemon. `reading` and
`asking` are for people, `viewing` gives both to a daemon's clients; `roles`, `keys` and `setup` are
for people who run the servers. Only `hub`, `messages` and `errors` import nats, and `keys` nkeys; a
daemon without `[fleet]` imports nothing of this package.
"""
