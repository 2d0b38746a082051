"""Methods that the daemon answers itself or changes on their way.

`thread_methods`, `thread_reads`, `turn_methods`, `archive_methods`, `revert_methods`,
`terminal_methods`, `forks`, `samples`, `interrupts`, `thread_lists` and `thread_search` speak
Codex's protocol, with `thread_requests` for what they have in common; `extension_methods`,
`checkpoint_methods`, `checkpoint_storage`, `context_messages`, `agent_session_methods` and
`history_methods` are ours.
`history` (with `history_markers`), `timeline_pages` and `session_export` build their answers.
"""
