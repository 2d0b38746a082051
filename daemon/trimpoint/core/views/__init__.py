"""Renders state for clients.

`view` renders the read model and events, `wire_events` the types of events, and `timeline` the
history with its trim points. `meter` renders how full the context is, `inspection_view` its items,
and `advice` the trims that would help. `pins_view` renders the pins and `trim_outcome` the effect
of a trim. `export` and `unified` export a thread, and `timeline_text` and `compression_text` are
the texts of `/timeline` and `/compress`. `entry_text` and `history_view` find and render entries,
and `history_tools` answers the agent's history tools.
"""
