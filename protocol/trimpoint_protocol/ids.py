"""Identifiers as they appear on the wire; all are opaque strings.

`ThreadId` is stable for the life of a conversation. `ProviderThreadId` names the Codex thread that serves it
at present and never reaches a client. Turn, entry and item ids are the provider's own and are unique across
generations.
"""

from typing import NewType

ThreadId = NewType("ThreadId", str)
ProviderThreadId = NewType("ProviderThreadId", str)
TurnId = NewType("TurnId", str)
EntryId = NewType("EntryId", str)
TrimPointId = NewType("TrimPointId", str)
OperationId = NewType("OperationId", str)
CommandId = NewType("CommandId", str)
