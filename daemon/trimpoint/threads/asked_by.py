"""Keeps who gave the commands of the present task, for the journal."""

from contextvars import ContextVar

ASKED_BY: ContextVar[str] = ContextVar("asked_by", default="")
"""The name of a person on another machine, as the hub vouches for it; empty for a local client."""
