"""Defines trimpoint's wire protocol, for the daemon and for client authors: stdlib and msgspec
only, no I/O.
"""
