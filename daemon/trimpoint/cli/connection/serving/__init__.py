"""Runs a daemon in this process: `foreground` starts and stops it, `control_socket` is where
Codex's own programs look for it, `log_stream` writes its log.
"""
