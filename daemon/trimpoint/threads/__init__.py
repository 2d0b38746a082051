"""The threads: one writer for each, and the registry of all.

`registry` finds, loads and evicts threads; `writer` decides and appends for one thread, one command
at a time, with numbers of `sequencer` and answers of `receipts`; `loading` opens a journal,
`flushing` writes in the background, `idle` chooses what leaves memory. `catalogue` and
`thread_index` list threads without opening them, `retention` deletes expired ones, `activity`
counts operations, `worktrees` is the port to files, `replacements` is about `/new`, `ids` makes
ids, `errors` names refusals.
"""
