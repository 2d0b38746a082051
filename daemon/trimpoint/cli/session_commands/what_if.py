"""`trimpoint sessions what-if`: replays the sessions on this machine under each policy."""

import argparse
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.text import Text

from trimpoint.app import policy_of
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.session_commands.own_threads import summaries_on_disk
from trimpoint.cli.terminal import print_json, print_plain_line, stdout_console
from trimpoint.cli.views.what_if_view import picture, what_if_view
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.sessionlogs.catalogue import found_sessions, moment_of
from trimpoint.sessionlogs.homes import Homes, homes_in
from trimpoint.sessionlogs.opening import status_of
from trimpoint.sessionlogs.replay.logs import story_of
from trimpoint.sessionlogs.replay.own import OwnThread
from trimpoint.sessionlogs.replay.report import ALL, Report
from trimpoint.sessionlogs.replay.story import Story
from trimpoint.sessionlogs.sessions import FoundSession, survey

OF_LOGS = frozenset({"sessions", "archived_sessions", "projects", "tmp"})
"""The folders of an agent's home that have its logs."""


def run(arguments: argparse.Namespace) -> int:
    """Replays the sessions and prints what each policy takes."""
    settings = settings_of(arguments)
    policy = policy_of(settings.config, LaunchProfile(Path("codex")))
    report = Report(policy)
    chosen = _Chosen(arguments, policy.model_windows)
    if chosen.wants_own:
        for journal in chosen.journals(StateDirectory(settings.state_dir)):
            report.add("trimpoint", partial(chosen.own, journal))
    for session in chosen.sessions():
        report.add(session.agent, partial(chosen.logged, session))
    if arguments.svg is not None and report.groups[ALL].sessions:
        _write_new(Path(arguments.svg), picture(report))
    if arguments.json:
        print_json(report.document())
    elif report.groups[ALL].sessions or report.unreadable or report.without_calls:
        stdout_console().print(what_if_view(report))
    else:
        stdout_console().print(Text("No session matches.", "dim"))
    return Exit.DONE


class _Chosen:
    """The sessions that the command line names."""

    def __init__(self, arguments: argparse.Namespace, windows: dict[str, int]) -> None:
        self._agent, self._since, self._windows = arguments.agent, arguments.since, windows
        self._worked_in: list[str] = []
        self._homes = [homes_in(os.environ)]
        copies: list[Homes] = []
        for name in arguments.folders:
            folder = Path(os.path.realpath(name))
            if not folder.is_dir():
                raise UsageError(f"There is no folder {name!r}.")
            found = next((homes for homes in _homes_below(folder) if _has_sessions(homes)), None)
            if found is None:
                self._worked_in.append(str(folder))
            else:
                copies.append(found)
        if copies:
            self._homes = [*copies, *(self._homes if self._worked_in else ())]
        self._copies = copies
        self.wants_own = self._agent in (None, "trimpoint") and (
            bool(self._worked_in) or not arguments.folders
        )
        self._owned = {
            provider_id
            for one in (summaries_on_disk(arguments) if self.wants_own else ())
            for provider_id in (one.thread_id, *one.provider_thread_ids, *one.scratch_ids)
        }

    def journals(self, store: StateDirectory) -> Iterator[Path]:
        """Yields the journals of trimpoint's own threads."""
        for thread_id, _ in store.journals():
            yield store.journal_path(thread_id)

    def own(self, journal: Path) -> Story | None:
        """Reads a thread of trimpoint's own; returns None if it is not wanted."""
        if not self._is_new(journal):
            return None
        thread = OwnThread(journal)
        self._owned |= thread.provider_ids
        changed_at = datetime.fromtimestamp(thread.changed_at_ms / 1000, UTC)
        is_old = self._since is not None and changed_at < self._since
        return None if is_old or not self._is_inside(thread.folder) else thread.story()

    def sessions(self) -> Iterator[FoundSession]:
        """Yields the sessions of agents that may be wanted. What Codex has of a thread of
        trimpoint's own is none.
        """
        for homes in self._homes if self._agent != "trimpoint" else ():
            for session in found_sessions(homes, self._agent):
                if not (session.agent == "codex" and session.id in self._owned):
                    yield session

    def logged(self, session: FoundSession) -> Story | None:
        """Reads a session; returns None if it is not wanted."""
        if not any(self._is_new(path) for path, _ in session.parts):
            return None
        first = survey(session)
        changed_at = moment_of(first.records.last_timestamp)
        if self._since is not None and changed_at < self._since:
            return None
        if not self._is_copy(session) and not self._is_inside(first.about.cwd or ""):
            return None
        return story_of(session, first, self._windows)

    def _is_new(self, path: Path) -> bool:
        """Returns whether a file may have been written since; one that cannot be asked may."""
        found = status_of(path)
        return self._since is None or found is None or found.st_mtime >= self._since.timestamp()

    def _is_inside(self, folder: str) -> bool:
        if not self._worked_in:
            return True
        real = Path(os.path.realpath(folder)) if folder else None
        return real is not None and any(real.is_relative_to(one) for one in self._worked_in)

    def _is_copy(self, session: FoundSession) -> bool:
        homes = [home for homes in self._copies for home in homes]
        return any(path.is_relative_to(home) for path, _ in session.parts for home in homes)


def _homes_below(folder: Path) -> Iterator[Homes]:
    """Yields where a folder with a copy of agents' logs may have them."""
    yield Homes(folder, folder, folder)
    yield Homes(folder / ".codex", folder / ".claude", folder / ".gemini")
    if folder.name in OF_LOGS:
        yield Homes(folder.parent, folder.parent, folder.parent)


def _has_sessions(homes: Homes) -> bool:
    return next(found_sessions(homes), None) is not None


def _write_new(path: Path, text: str) -> None:
    """Writes to a new file: an existing one may be the only copy of something."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise CliError(
            f"{path}: {error.strerror}.", "Name a new file with --svg.", reason="cannot_write"
        ) from None
    print_plain_line(f"Written to {path}.")
