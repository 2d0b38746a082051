"""The writer of a thread. `writer` decides and appends, one command at a time; it takes numbers
from `sequencer` and stored answers from `receipts`. `loading` opens a journal, `flushing`
writes in the background, `unwritten` keeps the facts that the disk has refused, and
`recent_records` what a client that reconnects has missed.
"""
