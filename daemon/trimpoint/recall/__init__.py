"""Full-text search in the ledgers of all threads, also in entries that have left the context
(docs/recall.md).

`words` defines the searchable words of a text and parses queries. `index` stores the words in
SQLite, and `reading` updates the index from a journal. `recall` does this for all journals in the
background and runs searches. `history` returns the results as entries of the ledger. The index is
derived: it never has more than the journals, and is created again if it is missing, damaged or of
another format.
"""
