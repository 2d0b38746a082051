"""Summaries: `compaction_steps` carries out `/compact`, `compaction` runs one on a fork,
`summarizing` chooses how, `sealed_summary` handles a summary that only the provider can read,
`overflow_recovery` makes room for a turn that did not fit, `answer_watch` follows the repeated
turn, `automatic` compacts a full context between turns.
"""
