"""The sessions of Gemini CLI below its home folder."""

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.gemini.clears import Beginning, clears_between
from trimpoint.sessionlogs.gemini.prompt_log import NO_LOG, PromptLog, prompt_log, time_of
from trimpoint.sessionlogs.gemini.reader import GeminiReader, Part
from trimpoint.sessionlogs.sessions import FoundSession

_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_START = re.compile(rb'"startTime"\s*:\s*"([^"\\]{1,40})"')
HEAD_BYTES = 4096


def gemini_sessions(home: Path) -> Iterator[FoundSession]:
    """Yields the sessions of all projects, and those of sub-agents."""
    folders = _project_folders(home)
    for project in sorted((home / "tmp").glob("*/chats")):
        folder = project.parent
        cwd = _root_of(folder) or folders.get(folder.name)
        log = _log_of(folder)
        files = _chat_files(project)
        clears = clears_between([_beginning(path) for path in files], log)
        for path in files:
            yield _session(path, cwd, log, None, clears)
        for path in sorted(project.glob("*/*.jsonl")):
            yield _session(path, cwd, NO_LOG, path.parent.name, [])


def _chat_files(chats: Path) -> list[Path]:
    """A session that went on in a newer version has a file of each kind: the newer one counts."""
    found = {path.stem: path for path in chats.glob("session-*.json")}
    found |= {path.stem: path for path in chats.glob("session-*.jsonl")}
    return [found[stem] for stem in sorted(found)]


def _session(
    path: Path, cwd: str | None, log: PromptLog, parent: str | None, clears: list[u.Clear]
) -> FoundSession:
    session_id = _id_in(path) or path.stem
    part = Part(path.name, is_whole=path.suffix == ".json")
    return FoundSession(
        id=session_id,
        agent="gemini",
        parts=[(path, part)],
        reader=partial(GeminiReader, session_id, cwd, log),
        lineage=_lineage(session_id, parent, clears),
        clears=tuple(clear for clear in clears if clear.from_session == session_id),
    )


def _lineage(session_id: str, parent: str | None, clears: list[u.Clear]) -> u.Lineage | None:
    origin = next((one.from_session for one in clears if one.to_session == session_id), None)
    if parent is None and origin is None:
        return None
    return u.Lineage(parent=parent, cleared_from=origin)


def _beginning(path: Path) -> Beginning:
    head = _bytes(path, 0)
    time = _START.search(head) or _START.search(_bytes(path, -HEAD_BYTES))
    began = time_of(time[1].decode("utf-8", "replace")) if time is not None else None
    return Beginning(_id_in(path) or path.stem, began)


def _id_in(path: Path) -> str | None:
    """Returns the id that the file says: at its beginning, or at the end of one of an older
    version.
    """
    found = _SESSION_ID.search(_bytes(path, 0)) or _SESSION_ID.search(_bytes(path, -HEAD_BYTES))
    return found[1].decode("utf-8", "replace") if found is not None else None


def _bytes(path: Path, start: int) -> bytes:
    """Returns a part of a file; a negative start counts from its end."""
    try:
        with path.open("rb") as file:
            if start < 0:
                file.seek(max(0, file.seek(0, os.SEEK_END) + start))
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def _project_folders(home: Path) -> dict[str, str]:
    """Returns the folder of each project by its short name."""
    try:
        found = msgspec.json.decode((home / "projects.json").read_bytes(), type=_Projects)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return {slug: path for path, slug in found.projects.items()}


class _Projects(msgspec.Struct):
    projects: dict[str, str] = {}


def _root_of(folder: Path) -> str | None:
    try:
        return (folder / ".project_root").read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _log_of(folder: Path) -> PromptLog:
    try:
        return prompt_log((folder / "logs.json").read_bytes())
    except OSError:
        return NO_LOG
