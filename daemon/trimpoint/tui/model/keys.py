"""The table of keys, for the help screen and docs/chat.md."""

KEYS = (
    (
        "Typing",
        (
            ("Enter", "sends; while the agent works, it is told in the middle of its turn"),
            ("Alt+Enter, Ctrl+Enter", "queues for after the turn; Alt+↑ shows the queue"),
            ("Shift+Enter, Ctrl+J", "begins a line; so do \\ before Enter, and Alt+Enter at rest"),
            ("/ or :", "opens the menu of commands; Tab completes"),
            ("@", "finds a file; an image is sent when its path is pasted"),
            ("!", "runs a command in your shell, without a sandbox"),
            ("↑ ↓", "prompts of before; ↑ in an empty line takes a waiting one back"),
            ("Ctrl+R", "finds a prompt of any thread"),
            ("Ctrl+G", "opens your editor with the prompt, or with the chosen change's file"),
            ("Esc", "interrupts the agent, or a compaction"),
            ("Esc Esc", "edits an earlier prompt and sends it again from there"),
            ("Alt+R", "sends the prompt of a turn that failed again"),
            ("Ctrl+C", "copies what is marked, else clears the line; twice ends"),
            ("Ctrl+D, Ctrl+Q", "ends; the thread stays, and a turn continues"),
        ),
    ),
    (
        "Reading",
        (
            ("PgUp PgDn, Ctrl+↑↓", "scrolls, as wheel and bar do; Ctrl+Home, Ctrl+End, /turn N"),
            ("Ctrl+O", "opens the last output, summary or pruned section in sight"),
            (
                "Tab",
                "to the question, or into the conversation: ↑ ↓, Enter, Ctrl+Y copies, Esc",
            ),
        ),
    ),
    (
        "More",
        (
            ("Ctrl+T", "threads, and the sessions of other agents"),
            ("Ctrl+N", "a new thread"),
            ("Alt+Z", "turns to go back to, with a preview"),
            ("Alt+T", "clears, compacts or masks at a turn, with a preview"),
            ("Ctrl+X", "what the agent's context holds: discard, pin"),
            ("Ctrl+F", "finds what was said, in this thread or in all"),
            ("Alt+G", "types the command that is advised"),
            ("Ctrl+Z", "suspends; fg comes back"),
        ),
    ),
)
