"""The status bar: folder, thread, how full the context is, and used tokens."""

from typing import NamedTuple

from trimpoint_protocol.readmodel import ContextStatus

from trimpoint.cli.terminal import one_line
from trimpoint.core.context.context_size import percent_text
from trimpoint.core.model.tokens import short_count as tokens

Style = str
LEVELS: dict[str, Style] = {"ok": "green", "warning": "yellow", "critical": "bold red"}
_PLAIN = ""
_LEAST_FOLDER, _LEAST_THREAD = 10, 14


class Piece(NamedTuple):
    """A text of the status bar and its style."""

    text: str
    style: Style = _PLAIN


def status_bar(folder: str, thread: str, context: ContextStatus | None, width: int) -> list[Piece]:
    """Returns the pieces that fit into `width` columns; the least important ones are left out
    first.
    """
    meter = _meter(context)
    used = _used(context)
    names = [one_line(folder, 200), one_line(thread, 200)]
    for pieces in ([*meter, *used], meter):
        room = width - sum(len(piece.text) + 1 for piece in pieces)
        if (fitted := _names(names, room)) is not None:
            return [*fitted, *pieces]
    return [*meter, *used] if _cells([*meter, *used]) <= width else meter


def _cells(pieces: list[Piece]) -> int:
    return sum(len(piece.text) + 1 for piece in pieces) - 1


def _names(names: list[str], room: int) -> list[Piece] | None:
    """Returns folder and thread, shortened to fit into `room` columns; None if there is too little
    room.
    """
    folder, thread = names
    space = room - 5  # two pairs of brackets and a blank between them
    if space < _LEAST_FOLDER + _LEAST_THREAD:
        return None
    if len(folder) + len(thread) > space:
        thread_room = max(_LEAST_THREAD, space - len(folder))
        folder_room = max(_LEAST_FOLDER, space - min(len(thread), thread_room))
        folder = _end_of(folder, folder_room)
        thread = one_line(thread, max(1, space - len(folder)))
    return [Piece(f"[{folder}]", "cyan"), Piece(f"[{thread}]")]


def _end_of(folder: str, room: int) -> str:
    return folder if len(folder) <= room else f"…{folder[-(room - 1) :]}"


def _meter(context: ContextStatus | None) -> list[Piece]:
    if context is None or (context.unknown and not context.used_tokens):
        return []
    if context.percent is None:
        return []
    # In words too: not every terminal shows colours.
    word = f" {context.level}" if context.level in ("warning", "critical") else ""
    style = LEVELS.get(context.level or "", _PLAIN)
    mode = context.auto.mode if context.auto is not None and context.auto.is_chosen else ""
    auto = f", auto {mode}" if mode else ""
    return [Piece(f"[Context: {percent_text(context.percent)}{word}{auto}]", style)]


def _used(context: ContextStatus | None) -> list[Piece]:
    if context is None or (context.unknown and not context.used_tokens):
        return []
    about = "~" if context.estimated else ""
    window = f"/{tokens(context.window_tokens)}" if context.window_tokens is not None else ""
    return [Piece(f"[tokens: {about}{tokens(context.used_tokens)}{window}]", "dim")]
