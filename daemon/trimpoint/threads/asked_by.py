"""Holds the name of the person who sent the current task's command, for the journal."""

from contextvars import ContextVar

ASKED_BY: ContextVar[str] = ContextVar("asked_by", default="")
"""The name of a person on another machine, as verified by the hub; empty for a local client."""
