"""Codex's lists of threads, one row a thread: `thread_lists` lists them, `thread_search` searches
their text, `list_pages` cuts what was found into pages.
"""
