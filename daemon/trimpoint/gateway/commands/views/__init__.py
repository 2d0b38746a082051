"""Answers that do not change a thread. `context_meters` reports the meter, `context_inspections`
the model's input, `revert_previews` the effect of a revert; `history_searches` answers `/search`,
and `history_answers` the agent's own searches.
"""
