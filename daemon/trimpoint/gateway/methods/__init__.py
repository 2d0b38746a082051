"""Methods that the daemon answers itself or changes on their way.

`threads` and `lists` speak Codex's protocol: one thread, and lists and searches of threads.
`history` builds what they answer of a thread's history. `extension` has the methods of our own,
`agent_sessions` those of them that are about the sessions of all agents.
"""
