"""The side of the daemon that clients talk to.

`gateway` routes each request. `transport` moves bytes, `session` is one client's connection and
requests, `ids` maps thread ids and handles, `commands` carries out slash commands, `methods`
answers methods, `metrics` counts.
"""
