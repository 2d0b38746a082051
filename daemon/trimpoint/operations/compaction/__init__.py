"""Summaries of the context. `compaction_steps` runs `/compact`, `compaction` compacts a fork, and
`summarizing` returns the summary, with `sealed_summary` for one that only the provider can read.
`overflow_recovery` repeats a turn that did not fit, and `answer_watch` watches the repeated turn.
`hidden_answers` asks for the brief of a `/handoff`. `automatic` compacts a critical context between
turns.
"""
