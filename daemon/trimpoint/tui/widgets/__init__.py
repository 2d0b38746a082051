"""What is drawn with Textual, and the keys.

`app` puts the screen together, `transcript_view` draws the history line by line with `row_drawing`,
`composer` is where a person types, `bars` are the lines around it, `question_card` what the agent
asks. `thread_picker`, `turn_picker`, `inspection_screen` and `help_screen` are screens of their
own, and `chat.tcss` how all of it looks.

Text from outside is drawn as `Text` or `Content`, and never read as markup.
"""
