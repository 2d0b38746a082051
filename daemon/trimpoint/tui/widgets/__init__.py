"""What is drawn with Textual, and the keys.

`app` puts the screen together, `transcript_view` draws the history line by line with `row_drawing`,
`composer` is where a person types, `bars` are the lines around it. `chat.tcss` is how it looks.

Text from outside is drawn as `Text` or `Content`, and never read as markup.
"""
