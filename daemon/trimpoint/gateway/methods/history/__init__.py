"""A thread's whole history in Codex's own form, built from the ledger. `history` has its turns and
items, `history_markers` the items that show trims, `history_occurrences` finds words in it, and
`history_positions` lists it in order.
"""
