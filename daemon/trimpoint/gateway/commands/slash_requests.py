"""Turns a parsed slash command into a command for the thread's writer."""

from typing import NamedTuple, assert_never

from trimpoint_protocol.commands import (
    ArchiveAndNew,
    CompactContext,
    PinContext,
    RevertToCheckpoint,
    TrimContext,
    UndoTrim,
    UnpinContext,
)

from trimpoint.core.model import invocations
from trimpoint.core.views.trim_outcome import (
    Planned,
)


class CommandIds(NamedTuple):
    """The ids that every command has."""

    thread_id: str
    command_id: str


def as_command(
    parsed: invocations.Change, ids: CommandIds
) -> Planned | RevertToCheckpoint | PinContext | UnpinContext:
    thread_id, command_id = ids
    match parsed:
        case invocations.Clear(keep, force):
            return TrimContext(
                command_id=command_id, thread_id=thread_id, keep_last_n_turns=keep or 0, force=force
            )
        case invocations.Compact(keep, force, guidance, _, model):
            return CompactContext(
                command_id=command_id,
                thread_id=thread_id,
                keep_last_n_turns=keep,
                force=force,
                guidance=guidance,
                model=model,
            )
        case invocations.Pin(turns, note, force):
            return PinContext(
                command_id=command_id,
                thread_id=thread_id,
                turns=[*turns] or None,
                note=note,
                force=force,
            )
        case invocations.Unpin(pins):
            return UnpinContext(command_id=command_id, thread_id=thread_id, pins=[*pins] or None)
        case invocations.Undo(redo, force):
            return UndoTrim(command_id=command_id, thread_id=thread_id, redo=redo, force=force)
        case invocations.Revert(turn_id, turn_count, undo, scope, force):
            return RevertToCheckpoint(
                command_id=command_id,
                thread_id=thread_id,
                turn_id=turn_id,
                turn_count=turn_count,
                undo=undo,
                scope=scope,
                force=force,
            )
        case invocations.New(pins):
            return ArchiveAndNew(command_id=command_id, thread_id=thread_id, pins=pins)
        case _:
            assert_never(parsed)
