"""Derives a thread's active context, and divides it.

`active_context` derives the active context. `generations` opens a generation that holds a given
context, and `carried_turns` records turns in another thread. `pins` has the pinned parts.
`context_size` computes the size in tokens, and `cost` what a trim costs. `provider_compactions`
finds the turns that Codex has compacted by itself. `inspection` classifies every item. `groups`
matches raw items with entries.
`segments` and `segment_kinds` divide the context into the parts that can be discarded.
`split_point` finds where the oldest part may be cut off.
"""
