"""Stores journals.

`directory` is the state directory, `file` a journal on disk, and `memory` a journal in memory.
`grouped` implements the journal over any storage, with the group commit of `commit`. `file_storage`
appends to a file; `file_ops` and `instrumented_files` call the operating system. `inspection`,
`following` and `damage` read files that may be damaged or still written.
"""
