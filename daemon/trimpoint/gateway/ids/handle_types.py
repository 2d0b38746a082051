"""The ids that clients choose for something in Codex: which methods have them, as tables."""

from typing import NamedTuple

REQUEST_ID = "requestId"


class HandleType(NamedTuple):
    """One sort of handle. `member` holds it in `starts`, `ends`, `uses` and the notifications
    `notifications`.
    """

    member: str
    starts: str
    ends: str | None
    over: str
    """What the handle stands for is over when this request has been answered, or this notification
    heard.
    """
    uses: tuple[str, ...] = ()
    notifications: tuple[str, ...] = ()
    refuses_empty: bool = False
    """Codex takes "" for none, and says so."""
    needed_for: tuple[str, ...] | None = None
    """The handle may be left out, unless one of these members is true; None if it may not."""


class Cancel(NamedTuple):
    """A method that ends one of the client's own `requests`, by its JSON-RPC id; the notifications
    `notifications` name that id too.
    """

    method: str
    requests: tuple[str, ...]
    notifications: tuple[str, ...] = ()


# Codex's own schema, 0.133 to 0.171.
HANDLE_TYPES = (
    HandleType(
        "processId",
        "command/exec",
        ends="command/exec/terminate",
        over="command/exec",
        uses=("command/exec/write", "command/exec/resize"),
        notifications=("command/exec/outputDelta",),
        needed_for=("tty", "streamStdin", "streamStdoutStderr"),
    ),
    HandleType(
        "processHandle",
        "process/spawn",
        ends="process/kill",
        over="process/exited",
        uses=("process/writeStdin", "process/resizePty"),
        notifications=("process/outputDelta", "process/exited"),
        refuses_empty=True,
    ),
    HandleType(
        "watchId", "fs/watch", ends="fs/unwatch", over="fs/unwatch", notifications=("fs/changed",)
    ),
    HandleType(
        "subscriptionId",
        "mcpServer/event/stream/start",
        ends="mcpServer/event/stream/stop",
        over="mcpServer/event/stream/stop",
        notifications=("mcpServer/event/stream/notification",),
    ),
    # Straight on Codex these are everyone's, by an oversight that one can do without (measured:
    # 0.163).
    HandleType(
        "sessionId",
        "fuzzyFileSearch/sessionStart",
        ends="fuzzyFileSearch/sessionStop",
        over="fuzzyFileSearch/sessionStop",
        uses=("fuzzyFileSearch/sessionUpdate",),
        notifications=("fuzzyFileSearch/sessionUpdated", "fuzzyFileSearch/sessionCompleted"),
        refuses_empty=True,
    ),
    # A later search with the same token ends an earlier one.
    HandleType("cancellationToken", "fuzzyFileSearch", ends=None, over="fuzzyFileSearch"),
)
CANCELS = (
    Cancel("thread/search/cancel", ("thread/search",)),
    Cancel(
        "thread/search/stream/cancel",
        ("thread/search/stream",),
        notifications=("thread/search/partial",),
    ),
    Cancel("thread/sample/cancel", ("thread/sample",)),
    Cancel(
        "userVerification/cancel",
        (
            "userVerification/status",
            "userVerification/enroll",
            "userVerification/delete",
            "userVerification/verify",
        ),
    ),
)
