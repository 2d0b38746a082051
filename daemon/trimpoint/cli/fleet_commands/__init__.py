"""`trimpoint fleet`: commands that connect to the NATS servers of the fleet, not to a daemon.
`hub_client` connects, `view` shows hosts, threads and events, `commands` sends commands to a host,
`hub` configures servers and streams.
"""
