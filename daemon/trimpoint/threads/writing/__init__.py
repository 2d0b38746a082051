"""The writer of a thread. `writer` decides and appends, one command at a time; it takes numbers
from `sequencer` and stored answers from `receipts`. `loading` opens a journal, and `flushing`
writes in the background.
"""
