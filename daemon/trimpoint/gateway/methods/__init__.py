"""Methods that the daemon answers itself or changes on their way.

`thread_methods`, `archive_methods`, `revert_methods`, `terminal_methods`, `forks`, `samples`,
`interrupts` and `thread_lists` speak Codex's protocol; `extension_methods`, `checkpoint_methods`,
`checkpoint_storage`, `context_messages`, `agent_session_methods` and `history_methods` are ours.
`history` (with `history_markers`), `timeline_pages` and `session_export` build their answers.
"""
