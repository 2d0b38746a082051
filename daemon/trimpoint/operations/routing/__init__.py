"""Routes messages of Codex to threads and clients. `notification_router` routes notifications by
thread, with the `routes` of provider threads; `thread_messages` reads messages about a thread.
`turn_end_buffer` holds back the end of a turn until it is known whether the turn continues,
`ordered_sink` until its facts are durable, and `sub_agents` follows sub-agents.
"""
