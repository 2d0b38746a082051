"""`sessions/…`, the sessions of all agents: `agent_session_methods` answers, `session_pages` reads
logs page by page, `own_sessions` adds the threads of ours.
"""
