"""Stores journals.

`directory` is the state directory, `file` a journal on disk and `memory` one in memory; `grouped`
and `commit` share one sync among all writers; `file_storage` appends, `file_ops` and
`instrumented_files` are the calls to the operating system. `inspection` and `damage` read a file
that may be broken.
"""
