"""From Codex to threads and clients: `notification_router` sorts notifications by thread, with the
`routes` of Codex threads and what `thread_messages` reads of a message. `turn_end_buffer` holds the
end of a turn until it is known whether the turn continues, `sub_agents` follows sub-agents.
"""
