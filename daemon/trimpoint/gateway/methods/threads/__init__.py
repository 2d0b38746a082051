"""Codex's methods about one thread, called with its stable id.

`thread_methods` starts and resumes threads. `thread_reads` reads them. `turn_methods` starts turns,
`injected_items` reads what is put between them, and `interrupts` ends them. `forks` forks a thread,
`samples` asks the model over its context, `archive_methods` archives and deletes, `revert_methods`
reverts turns, and `terminal_methods` lists background terminals. `rollout_paths` finds the thread
of a file. `thread_requests` holds the parts that they share.
"""
