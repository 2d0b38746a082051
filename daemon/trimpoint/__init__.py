"""trimpoint: a sidecar daemon for the Codex app-server that can clear, compact and renew an agent's
context.
"""

__version__ = "0.1.0"
