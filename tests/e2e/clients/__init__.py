"""Requests and notifications of clients: Codex's own methods, and trimpoint's."""
