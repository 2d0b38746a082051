"""The provider: one `codex app-server` child and the conversation with it.

`locate` finds the native binary, `launch` says how it is run, `process` owns one child from spawn to reaped
(`pipes` moves its bytes, `leftover` ends what a killed daemon left behind), `peer` correlates requests on its
stdin and stdout. Nothing here knows clients or the journal.
"""
