"""What the model sees of a thread, and how it can be divided.

`active_context` derives the active context, `generations` opens one that holds a given context,
`context_size` has its size in tokens, `inspection` says what each of its items is, `groups` puts
raw items and entries together, `segments` and `segment_kinds` name the parts that can be discarded,
and `split_point` finds where the oldest part may end.
"""
