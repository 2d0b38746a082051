"""Decides from what Codex has stored which events a thread lacks: `adoption` of a thread that was
begun elsewhere, or of a fork, and `resync` of turns that ran without the daemon.
"""
