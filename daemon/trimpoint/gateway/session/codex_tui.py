"""Codex's own terminal UI, which is sent what it alone can show."""

from trimpoint.gateway.session.clients import Client

NAME = "codex-tui"


def is_codex_tui(client: Client) -> bool:
    """Return whether a client is the UI, by the name that it introduced itself with."""
    return client.name == NAME
