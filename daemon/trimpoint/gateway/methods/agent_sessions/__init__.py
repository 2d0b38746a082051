"""Handles `sessions/…`, the sessions of all agents. `agent_session_methods` has the handlers,
`session_pages` reads logs page by page; `own_sessions` and `own_export` are about trimpoint's own
threads.
"""
