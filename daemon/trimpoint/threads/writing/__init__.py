"""One writer for each thread: `writer` decides and appends, one command at a time, with numbers of
`sequencer` and answers of `receipts`; `loading` opens a journal, `flushing` writes in the
background.
"""
