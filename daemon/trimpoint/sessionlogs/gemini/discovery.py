"""The sessions of Gemini CLI below its home folder."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.gemini.clears import Beginning, clears_between
from trimpoint.sessionlogs.gemini.prompt_log import NO_LOG, PromptLog, prompt_log, time_of
from trimpoint.sessionlogs.gemini.reader import GeminiReader, Part
from trimpoint.sessionlogs.opening import bytes_of
from trimpoint.sessionlogs.sessions import FoundSession

_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_START = re.compile(rb'"startTime"\s*:\s*"([^"\\]{1,40})"')
HEAD_BYTES = 4096
MAX_BESIDE_BYTES = 64 * 1024 * 1024


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
    head = bytes_of(path, 0, HEAD_BYTES)
    time = _START.search(head) or _START.search(bytes_of(path, -HEAD_BYTES, HEAD_BYTES))
    began = time_of(time[1].decode("utf-8", "replace")) if time is not None else None
    return Beginning(_id_in(path) or path.stem, began)


def _id_in(path: Path) -> str | None:
    """Returns the id that the file says: at its beginning, or at the end of one of an older
    version.
    """
    found = _SESSION_ID.search(bytes_of(path, 0, HEAD_BYTES)) or _SESSION_ID.search(
        bytes_of(path, -HEAD_BYTES, HEAD_BYTES)
    )
    return found[1].decode("utf-8", "replace") if found is not None else None


def _project_folders(home: Path) -> dict[str, str]:
    """Returns the folder of each project by its short name."""
    try:
        found = msgspec.json.decode(_small(home / "projects.json"), type=_Projects)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return {slug: path for path, slug in found.projects.items()}


class _Projects(msgspec.Struct):
    projects: dict[str, str] = {}


def _root_of(folder: Path) -> str | None:
    try:
        return _small(folder / ".project_root").decode().strip() or None
    except UnicodeDecodeError:
        return None


def _log_of(folder: Path) -> PromptLog:
    data = _small(folder / "logs.json")
    return prompt_log(data) if data else NO_LOG


def _small(path: Path) -> bytes:
    """Returns a file beside the sessions, nothing of one that is larger than any program writes."""
    return bytes_of(path, 0, MAX_BESIDE_BYTES)
