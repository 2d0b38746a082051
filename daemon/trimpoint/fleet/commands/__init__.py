"""Commands to other machines: `requests` as they are sent, `asking` as a person, `answering` as a
host, through a `local_client` of its own daemon.
"""
