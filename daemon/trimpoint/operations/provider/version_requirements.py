"""Refuses the commands that the connected Codex is too old for (docs/codex-versions.md)."""

from trimpoint_protocol.commands import (
    AnyClientCommand,
    ArchiveAndNew,
    CompactContext,
    DiscardContext,
    PinContext,
    TrimContext,
    UndoTrim,
    UnpinContext,
)
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.versions import OLDEST_SUPPORTED, Version, version_text
from trimpoint.threads.errors import CommandRefused

_NEED_NEW_CONTEXT = (
    TrimContext,
    CompactContext,
    DiscardContext,
    UndoTrim,
    PinContext,
    UnpinContext,
    ArchiveAndNew,
)


def refuse_if_too_old(command: AnyClientCommand, version: Version | None) -> None:
    """Before anything changes: a trim that could not be followed by a new session must not be
    begun.

    :param version: Codex's, None when it was not reached yet
    :raises CommandRefused: the command needs a newer Codex.
    """
    if (
        version is not None
        and version < OLDEST_SUPPORTED
        and isinstance(command, _NEED_NEW_CONTEXT)
    ):
        needed = (
            f"The command needs Codex {version_text(OLDEST_SUPPORTED)} or newer; this one is "
            f"{version_text(version)}."
        )
        raise CommandRefused(Reason.NOT_SUPPORTED, needed)
