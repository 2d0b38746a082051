"""Trimpoint's own methods. `extension_methods` has the handlers that have no module of their own
here.

`checkpoint_methods` lists and compares checkpoints, and `checkpoint_storage` prunes them.
`history_methods` searches and reads the history, `context_messages` lists the context,
`fleet_methods` concerns threads of other machines, and `http_addresses` logs a browser in.
`timeline_pages` and `thread_overviews` build answers.
"""
