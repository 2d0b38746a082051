"""Methods that the daemon answers itself, or changes before Codex receives them.

`threads` and `lists` handle Codex's own methods about one thread, and about lists and searches of
threads. `history` builds their answers about a thread's whole history. `extension` handles
trimpoint's own methods, and `agent_sessions` those about the sessions of all agents.
"""
