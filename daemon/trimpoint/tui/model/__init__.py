"""The state of the screen, and how keys change it, without Textual, I/O or a clock.

`transcript` holds the loaded history and `live` the items of the running turn; `viewport` computes
the visible lines, `details` the lines of an opened row, `streaming` the part of a streamed answer
that no longer changes. `status` is the status bar, `prompt` the history and the queue of prompts,
`popup` the menu of commands, `own_commands` the screen's own commands, `questions` the agent's
questions, `filling` a question that is being answered, `reading` the part of it that is in sight,
`deliberate` which keys may answer it, `attention` what a person is told who looks elsewhere,
`choosing` a filtered list, `thread_options` the list of threads, `inspection` the context's items,
`keys` the help, and `state` all of it together.
"""
