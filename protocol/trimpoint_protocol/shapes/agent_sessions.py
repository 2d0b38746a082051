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
    "SessionFolders",
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
    """A session as a list shows it.

    `title` is its name, else null; `firstPrompt` is the beginning of its first prompt. `clears`
    counts how often it was restarted with an empty context, `compactions` how often a summary
    replaced messages. `tokens` are those that its own model calls used. Counts are null for a log
    that is too large to be counted for a list. `lineage` is the id of the session that it was
    forked from, cleared from or spawned by, and `lineageKind` says which. `problem` says why it
    could not be read.
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


class SessionFolders(Params, frozen=True, kw_only=True):
    """The folders where the agents of the client keep their sessions, each absolute: such as
    `~/.codex`, `~/.claude` and `~/.gemini`. One that is null is that of the daemon's environment.
    """

    codex_home: str | None = None
    claude_home: str | None = None
    gemini_home: str | None = None


class SessionListParams(SessionFolders, frozen=True, kw_only=True):
    """Filters for `sessions/list`. `since` is a time (RFC 3339). `search`: words that must all be
    in the title, first prompt, folder or id. `codexHome`, `claudeHome` and `geminiHome` are the
    folders of the client's agents, as in all four methods about sessions; without one, the
    daemon's.
    """

    agent: Agent | None = None
    cwd: str | None = None
    since: str | None = None
    search: str | None = None
    cursor: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_SESSIONS)] | None = None


class SessionList(Result, frozen=True, kw_only=True):
    """A page of sessions, the last changed one first; `nextCursor` is null when nothing older is
    left.
    """

    sessions: list[SessionOverview]
    next_cursor: str | None


class SessionReadParams(SessionFolders, frozen=True, kw_only=True):
    """`sessionId` is an id or the end of one; `agent` is needed where sessions of two agents
    match.
    """

    session_id: str
    agent: Agent | None = None
    include_compacted: bool = False
    cursor: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_RECORDS)] | None = None


class SessionRecords(Result, frozen=True, kw_only=True):
    """A page of a session's records in the unified form, in order. Their members are in snake_case,
    as in files.
    """

    records: list[dict[str, Any]]
    next_cursor: str | None


class SessionExportParams(SessionFolders, frozen=True, kw_only=True):
    """`includeCompacted`: include the messages that a summary replaced or a rewind took back."""

    session_id: str
    agent: Agent | None = None
    format: ExportFormat = "unified"
    include_compacted: bool = False


class SessionContent(Result, frozen=True, kw_only=True):
    """A whole session as one text, in the requested form."""

    format: ExportFormat
    content: str


class SessionContinueParams(SessionFolders, frozen=True, kw_only=True):
    """`cwd` is where the new thread works. Without it that is the folder of the session, if the
    client's process works there, too; else the request is refused. `last` carries over only so many
    of the newest turns. `compact` compacts the new thread at once.
    """

    session_id: str
    agent: Agent | None = None
    cwd: str | None = None
    last: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    compact: bool = False


class ContinuedSession(Result, frozen=True, kw_only=True):
    """The new thread: it holds `turns` turns and `items` items, about `estTokens` tokens; `leftOut`
    lists what of the session's live context it does not hold.
    """

    thread_id: str
    session_id: str
    agent: Agent
    cwd: str
    turns: int
    items: int
    est_tokens: int
    left_out: list[str]
