"""What is drawn with Textual, and the keys.

`app` puts the screen together, `transcript_view` draws the history line by line with `row_drawing`,
`composer` is where a person types, `bars` are the lines around it, `question_card` what the agent
asks. Screens of their own: `thread_picker`, `turn_picker` and `search_picker` (each a `picker`),
`inspection_screen`, `help_screen`. `chat.tcss` is how it looks.

Text from outside is drawn as `Text` or `Content`, and never read as markup.
"""
