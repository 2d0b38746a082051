"""Derives the context that the model sees of a thread, and divides it.

`active_context` derives the active context, `generations` opens one that holds a given context,
`pins` has what stays whatever is trimmed, `context_size` the size in tokens, `inspection` says what
each item is, `groups` puts raw items and entries together, `segments` and `segment_kinds` name the
parts that can be discarded, and `split_point` finds where the oldest part may end.
"""
