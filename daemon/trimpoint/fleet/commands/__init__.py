"""Commands to other machines: `requests` are their messages, `asking` sends them as a person,
`answering` carries them out on the host, through a `local_client` of the host's daemon.
"""
