"""Search in what was said and done, also in what has left the context (docs/recall.md).

`words` says which words of a text are found and how a query is read, `index` keeps the words in
SQLite, `reading` brings the index up to what a journal says, and `recall` does so for all journals
in the background and answers searches. Always true: the index is derived. It never says more than
the journals, and it is made again when it is missing, damaged or of another format.
"""
