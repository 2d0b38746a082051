"""Tables of the methods that take a handle, an id which a client chooses for something in Codex."""

from typing import NamedTuple

REQUEST_ID = "requestId"


class HandleType(NamedTuple):
    """One kind of handle. `member` is the parameter that holds it in the methods `starts`, `ends`
    and `uses`, and in the notifications `notifications`.
    """

    member: str
    starts: str
    ends: str | None
    over: str
    """The handle is released when this request has been answered, or this notification has
    arrived.
    """
    uses: tuple[str, ...] = ()
    notifications: tuple[str, ...] = ()
    refuses_empty: bool = False
    """Codex rejects an empty handle as missing."""
    needed_for: tuple[str, ...] | None = None
    """The handle may be omitted unless one of these members is true; None: it is required."""


class Cancel(NamedTuple):
    """A method that cancels one of the client's own requests, named by its JSON-RPC id.

    `requests` lists the methods that it can cancel. The notifications in `notifications` carry the
    id too.
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
    # Codex itself does not separate these by connection, which is a fault that trimpoint does not
    # copy (measured: 0.163).
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
