"""Events of a thread as a whole: that it is there, archived, renamed or set up anew, and of the
operations on it.
"""

from typing import ClassVar

from trimpoint.core.model.events.event import Event


class ThreadCreated(Event, frozen=True, array_like=True, tag="thread.created"):
    """`origin`: started | new | adopted | forked.

    `overhead_tokens` and `window_tokens` are what was known of them in the thread before it.
    `launch` is what its Codex is launched with beyond the daemon's configuration, see
    codex/appserver/launch_requests.py; empty for nothing.
    """

    private: ClassVar[frozenset[str]] = frozenset({"settings", "launch"})
    thread_id: str
    cwd: str
    origin: str
    settings: bytes  # JSON, see operations/provider/settings.py
    project_id: str | None = None
    worktree_id: str | None = None
    branch_name: str | None = None
    parent_thread_id: str | None = None
    name: str | None = None
    overhead_tokens: int = 0
    window_tokens: int | None = None
    launch: bytes = b""


class OperationStarted(Event, frozen=True, array_like=True, tag="thread.operation-started"):
    """`kind`: clear | compact | discard | revert | start | overflow | undo | redo | pin | unpin. At
    most one is open on a thread.
    """

    operation_id: str
    kind: str


class OperationAdvanced(Event, frozen=True, array_like=True, tag="thread.operation-advanced"):
    """`phase`: compacting | stopping | starting | bootstrapping | retrying, then ready | failed;
    `message` is for a person.
    """

    operation_id: str
    phase: str
    message: str = ""
    reason: str = ""


class ArchivedAndNewCreated(
    Event, frozen=True, array_like=True, tag="thread.archived-and-new-created"
):
    """This thread is archived and `new_thread_id` continues with the same files."""

    private: ClassVar[frozenset[str]] = frozenset({"settings"})
    archived_thread_id: str
    new_thread_id: str
    worktree_id: str | None
    branch_name: str | None
    project_id: str | None
    cwd: str
    settings: bytes  # what the new thread starts with
    with_pins: bool = False  # whether it begins with what is pinned here


class ThreadArchived(Event, frozen=True, array_like=True, tag="thread.archived"):
    """The thread is archived; its ledger stays."""


class ThreadUnarchived(Event, frozen=True, array_like=True, tag="thread.unarchived"):
    """The thread is back."""


class ThreadRenamed(Event, frozen=True, array_like=True, tag="thread.renamed"):
    """`name` is None when the name was taken away."""

    name: str | None


class SettingsChanged(Event, frozen=True, array_like=True, tag="thread.settings-changed"):
    """The thread has other settings from now on."""

    private: ClassVar[frozenset[str]] = frozenset({"settings"})
    settings: bytes  # all of them, as they stand from now on


class CommandRejected(Event, frozen=True, array_like=True, tag="thread.command-rejected"):
    """A rule refused the command; remembered so that the same command id answers the same."""

    reason: str
    message: str
