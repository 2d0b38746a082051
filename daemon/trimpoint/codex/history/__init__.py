"""Reads Codex's stored conversations: `rollout_files` reads its files, `rollout` finds in them what
the model saw, `adoption` reads a whole thread, `resync` the turns that it ran while the daemon was
not connected.
"""
