"""The threads: one writer for each, and the registry of all.

`loaded_threads` finds, loads and evicts threads; `registry` is what the daemon, or one launch
profile, sees of them. `writing` decides and appends for one thread, and records the person of
`asked_by`; `idle` chooses the threads that leave memory. `catalogue` and `thread_index` list
threads without opening them. `retention` removes expired threads, `activity` counts turns and
operations, `off_loop` computes views of long threads beside the event loop, `worktrees` is the port
to the files, `replacements` begins the thread of `/new`, `unfinished_items` keeps what is
under way in running turns, `ids` makes ids, and `errors` has the errors.
"""
