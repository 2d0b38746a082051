"""Codex's methods on one thread, by its stable id.

`thread_methods` starts and resumes threads, `thread_reads` reads them and `whole_threads` answers
where Codex knows only a part, `turn_methods` starts turns and `interrupts` ends them, `forks` forks
a thread and `samples` asks over its context, `archive_methods` archives and deletes,
`revert_methods` goes back, `terminal_methods` lists background terminals. What they have in common
is in `thread_requests`.
"""
