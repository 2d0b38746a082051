"""Answers that only look at a thread: `context_meters` reports the meter, `context_inspections`
says what the model is sent, `revert_previews` what a revert would do, `history_searches` answers
`/search` and `history_answers` the agent's own searches.
"""
