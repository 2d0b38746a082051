"""What trimpoint says on the wire, for the daemon and for client authors: stdlib and msgspec only,
no I/O.
"""
