"""The methods of our own: `extension_methods` has a handler for each that has no module here.

`checkpoint_methods` lists and compares checkpoints and `checkpoint_storage` prunes them,
`history_methods` searches and reads the history, `context_messages` lists what the context holds,
`fleet_methods` are about the threads of other machines, `http_addresses` logs a browser in.
`timeline_pages`, `thread_overviews` and `session_export` build answers.
"""
