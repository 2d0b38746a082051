"""Events of a thread as a whole: its creation, archiving, name and settings, and its operations."""

from typing import ClassVar

from trimpoint.core.model.events.event import Event


class ThreadCreated(Event, frozen=True, array_like=True, tag="thread.created"):
    """A thread was created. `origin`: started | new | adopted | forked.

    `overhead_tokens` and `window_tokens` are the values known from the thread before it. `launch`
    is the launch request of its client, empty if there is none
    (codex/appserver/launch_requests.py).
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
    """An operation was started; a thread has at most one open operation. `kind`: clear | compact |
    draft | handoff | edit | discard | revert | start | overflow | undo | redo | pin | unpin |
    delete | fill.
    """

    operation_id: str
    kind: str


class OperationAdvanced(Event, frozen=True, array_like=True, tag="thread.operation-advanced"):
    """An operation entered a phase. `phase`: compacting | stopping | starting | bootstrapping |
    retrying, then ready | failed. `message` is for a person.
    """

    operation_id: str
    phase: str
    message: str = ""
    reason: str = ""


class ArchivedAndNewCreated(
    Event, frozen=True, array_like=True, tag="thread.archived-and-new-created"
):
    """The thread was archived, and the thread `new_thread_id` continues with the same files."""

    private: ClassVar[frozenset[str]] = frozenset({"settings"})
    archived_thread_id: str
    new_thread_id: str
    worktree_id: str | None
    branch_name: str | None
    project_id: str | None
    cwd: str
    settings: bytes  # what the new thread starts with
    with_pins: bool = False  # whether the new thread begins with the pins of this one


class HandedOff(Event, frozen=True, array_like=True, tag="thread.handed-off"):
    """The thread `new_thread_id` begins with the `brief` of this one as its first prompt; this one
    stays as it is.
    """

    thread_id: str
    new_thread_id: str
    brief: str
    goal: str | None = None


class ThreadArchived(Event, frozen=True, array_like=True, tag="thread.archived"):
    """The thread was archived; its ledger stays."""


class ThreadUnarchived(Event, frozen=True, array_like=True, tag="thread.unarchived"):
    """The thread was unarchived."""


class ThreadRenamed(Event, frozen=True, array_like=True, tag="thread.renamed"):
    """The thread was renamed; `name` is None if its name was removed. With `unconfirmed`, Codex has
    not got the name yet.
    """

    name: str | None
    unconfirmed: bool = False


class NameConfirmed(Event, frozen=True, array_like=True, tag="thread.name-confirmed"):
    """Codex has the name that a command gave to the thread."""

    name: str


class SettingsChanged(Event, frozen=True, array_like=True, tag="thread.settings-changed"):
    """The settings of the thread have changed."""

    private: ClassVar[frozenset[str]] = frozenset({"settings"})
    settings: bytes  # all settings, not only the changed ones


class CommandRejected(Event, frozen=True, array_like=True, tag="thread.command-rejected"):
    """A rule refused a command. The rejection is recorded, so that the same command id gets the
    same answer.
    """

    reason: str
    message: str
