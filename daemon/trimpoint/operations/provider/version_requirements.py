"""Refuses commands that need a newer Codex than the connected one (docs/codex-versions.md)."""

from trimpoint_protocol.commands import CHANGE_CONTEXT, AnyClientCommand, ArchiveAndNew
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.versions import OLDEST_SUPPORTED, Version, version_text
from trimpoint.threads.errors import CommandRefused

_NEED_NEW_CONTEXT = (*CHANGE_CONTEXT, ArchiveAndNew)


def refuse_if_too_old(command: AnyClientCommand, version: Version | None) -> None:
    """Raises if the command needs a newer Codex, before the command changes anything.

    :param version: Codex's version, or None if it is not connected yet.
    :raises CommandRefused: when the command needs a newer Codex.
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
