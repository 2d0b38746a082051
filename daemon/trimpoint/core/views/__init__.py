"""State as clients read it.

`view` is the read model, `timeline` the history with its trim points, `meter` how full the context
is, `inspection_view` what it holds, `advice` which trims would help, `pins_view` the pins,
`trim_outcome` what a trim does, `export` a thread as Markdown or JSON, `compression_text` the text
of `/compress`, `wire_events` the events as they are sent, `entry_text` the whole text of an entry,
`history_view` entries by name and place, and `history_tools` what an agent is told of them.
"""
