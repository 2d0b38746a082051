"""Parameters and results of the methods about sessions of all agents (docs/session-logs.md)."""

from typing import Annotated, Any, Literal

import msgspec

from trimpoint_protocol.shapes.structs import Params, Result
from trimpoint_protocol.unified import Agent

__all__ = [
    "MAX_RECORDS",
    "MAX_SESSIONS",
    "ContinuedSession",
    "ExportFormat",
    "LineageKind",
    "SessionContent",
    "SessionContinueParams",
    "SessionExportParams",
    "SessionList",
    "SessionListParams",
    "SessionOverview",
    "SessionReadParams",
    "SessionRecords",
]

MAX_SESSIONS = 1000
MAX_RECORDS = 1000
LineageKind = Literal["forked", "cleared", "spawned"]
ExportFormat = Literal["unified", "unified-json", "markdown"]


class SessionOverview(Result, frozen=True, kw_only=True):
    """A session for lists.

    `title` is its name, else null; `firstPrompt` begins its first prompt. `clears` counts where it
    was begun anew, `compactions` where a summary took the place of messages. `tokens` are all that
    its own model calls used. Counts are null for a log that is too large to be counted for a list.
    `lineage` is the id of the session that it was forked from, cleared from or spawned by, and
    `lineageKind` says which. `problem` says why it could not be read.
    """

    id: str
    agent: Agent
    title: str | None
    first_prompt: str | None
    cwd: str | None
    created_at: str | None
    updated_at: str | None
    turns: int | None
    messages: int | None
    tokens: int | None
    clears: int | None
    compactions: int | None
    rewinds: int | None
    lineage: str | None
    lineage_kind: LineageKind | None
    model: str | None
    files: list[str]
    bytes: int
    problem: str | None = None


class SessionListParams(Params, frozen=True, kw_only=True):
    """`since` is a time. Title, first prompt, folder or id must have all words of `search`."""

    agent: Agent | None = None
    cwd: str | None = None
    since: str | None = None
    search: str | None = None
    cursor: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_SESSIONS)] | None = None


class SessionList(Result, frozen=True, kw_only=True):
    """The last changed one first; `nextCursor` is null when nothing older is left."""

    sessions: list[SessionOverview]
    next_cursor: str | None


class SessionReadParams(Params, frozen=True, kw_only=True):
    """`sessionId` is an id, or the end of one; `agent` where two agents have the same."""

    session_id: str
    agent: Agent | None = None
    include_compacted: bool = False
    cursor: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_RECORDS)] | None = None


class SessionRecords(Result, frozen=True, kw_only=True):
    """Records of the unified form, in order. They are in snake_case, as in files."""

    records: list[dict[str, Any]]
    next_cursor: str | None


class SessionExportParams(Params, frozen=True, kw_only=True):
    """`includeCompacted`: with the messages that a summary replaced or a rewind took back."""

    session_id: str
    agent: Agent | None = None
    format: ExportFormat = "unified"
    include_compacted: bool = False


class SessionContent(Result, frozen=True, kw_only=True):
    """The document as text."""

    format: ExportFormat
    content: str


class SessionContinueParams(Params, frozen=True, kw_only=True):
    """`cwd` is where the new thread works, else where the session did. `last`: only so many of the
    newest turns. `compact`: the thread is compacted at once.
    """

    session_id: str
    agent: Agent | None = None
    cwd: str | None = None
    last: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    compact: bool = False


class ContinuedSession(Result, frozen=True, kw_only=True):
    """The new thread. It holds so many `turns` and `items`, and about `estTokens`; `leftOut` says
    what of the session's live context is not in it.
    """

    thread_id: str
    session_id: str
    agent: Agent
    cwd: str
    turns: int
    items: int
    est_tokens: int
    left_out: list[str]
