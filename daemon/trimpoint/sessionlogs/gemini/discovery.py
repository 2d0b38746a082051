"""Finds the sessions of Gemini CLI below its home folder."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.gemini.clears import Beginning, clears_between
from trimpoint.sessionlogs.gemini.prompt_log import NO_LOG, PromptLog, prompt_log, time_of
from trimpoint.sessionlogs.gemini.reader import GeminiReader, Part
from trimpoint.sessionlogs.opening import CannotRead, bytes_of, found_below, opened, shown
from trimpoint.sessionlogs.sessions import FoundSession
from trimpoint.sessionlogs.text.lines import lines_of

_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_START = re.compile(rb'"startTime"\s*:\s*"([^"\\]{1,40})"')
HEAD_BYTES = 4096
MAX_BESIDE_BYTES = 64 * 1024 * 1024


def gemini_sessions(home: Path) -> Iterator[FoundSession]:
    """Yields the sessions of all projects, and those of sub-agents."""
    folders = _project_folders(home)
    for project in found_below(home / "tmp", "*/chats"):
        folder = project.parent
        cwd = _root_of(folder) or folders.get(shown(folder.name))
        log = _log_of(folder)
        sessions = _files_by_session(_chat_files(project))
        clears = clears_between([one for one, _ in sessions], log)
        for beginning, paths in sessions:
            yield _session(beginning.session_id, paths, cwd, log, None, clears)
        for path in found_below(project, "*/*.jsonl"):
            session_id = _id_in(path) or shown(path.stem)
            parent = shown(path.parent.name)
            yield _session(session_id, [path], cwd, NO_LOG, parent, [])


def _chat_files(chats: Path) -> list[Path]:
    """Returns the chat files. A session that was continued in a newer version has one of each
    format; the newer one counts.
    """
    found = {path.stem: path for path in found_below(chats, "session-*.json")}
    found |= {path.stem: path for path in found_below(chats, "session-*.jsonl")}
    return [found[stem] for stem in sorted(found)]


def _files_by_session(paths: list[Path]) -> list[tuple[Beginning, list[Path]]]:
    """Returns the files of each session, oldest first.

    A process that resumes a session starts a file of its own with that id before it continues the
    old file (measured: 0.61.0). Such a file has no messages; it counts only if there is no other.
    """
    found: dict[str, list[tuple[Beginning, Path]]] = {}
    for path in paths:
        beginning = _beginning(path)
        found.setdefault(beginning.session_id, []).append((beginning, path))
    sessions: list[tuple[Beginning, list[Path]]] = []
    for files in found.values():
        speaking = [path for _, path in files if len(files) == 1 or _has_message(path)]
        sessions.append((files[0][0], speaking or [files[0][1]]))
    return sessions


def _has_message(path: Path) -> bool:
    """Returns whether a file has a message of its own."""
    if path.suffix == ".json":
        return True
    try:
        with opened(path) as file:
            return any(line.startswith(b'{"id":') for line in lines_of(file))
    except (CannotRead, OSError):
        return True


def _session(
    session_id: str,
    paths: list[Path],
    cwd: str | None,
    log: PromptLog,
    parent: str | None,
    clears: list[u.Clear],
) -> FoundSession:
    return FoundSession(
        id=session_id,
        agent="gemini",
        parts=[(path, Part(shown(path.name), is_whole=path.suffix == ".json")) for path in paths],
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
    return Beginning(_id_in(path) or shown(path.stem), began)


def _id_in(path: Path) -> str | None:
    """Returns the session id in a file: at its beginning, or at the end of a file of an older
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
    """Returns the content of a small file; empty if it is larger than any program writes."""
    return bytes_of(path, 0, MAX_BESIDE_BYTES)
