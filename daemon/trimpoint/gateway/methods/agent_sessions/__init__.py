"""Handles `sessions/…`, the sessions of all agents. `agent_session_methods` has the handlers,
`session_pages` reads logs page by page, and `own_sessions` adds trimpoint's own threads.
"""
