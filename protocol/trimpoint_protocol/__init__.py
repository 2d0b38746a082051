"""trimpoint's wire protocol, for the daemon and for authors of clients. Uses only the standard
library and msgspec; only `trimpoint_protocol.client` does I/O.
"""
