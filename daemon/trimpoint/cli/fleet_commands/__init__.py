"""`trimpoint fleet`: clients of the NATS servers, not of a daemon. `hub_client` connects, `view`
shows hosts, threads and events, `commands` asks a host, `hub` makes servers and streams.
"""
