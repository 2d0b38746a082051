"""The widgets that draw with Textual, and the keys.

`app` arranges the screen. `transcript_view` draws the history line by line with `row_drawing`;
`composer` edits the prompt, `bars` are the lines around it, `question_card` asks the agent's
questions. Other screens: `thread_picker`, `turn_picker` and `search_picker` (each a `picker`),
`inspection_screen`, `help_screen`. `chat.tcss` is the style sheet.

Text from the conversation is drawn as `Text` or `Content` and never interpreted as markup.
"""
