"""Codex and other programs: existing and continued threads, settings, sub-agents and reviews."""
