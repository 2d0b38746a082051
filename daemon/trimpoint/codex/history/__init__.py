"""What Codex has stored: `rollout` reads its files, `adoption` reads a whole thread, `resync` the turns that
it ran while the daemon was not connected.
"""
