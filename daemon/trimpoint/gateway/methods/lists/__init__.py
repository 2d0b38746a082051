"""Codex's lists of threads, with one row for each thread. `thread_lists` lists threads,
`thread_search` searches their text, and `list_pages` cuts the rows into pages.
"""
