"""A thread's whole history in Codex's own form, from the ledger: `history` has its turns and items,
`history_markers` what shows its trims, `history_occurrences` where a word stands in it and
`history_positions` its order.
"""
