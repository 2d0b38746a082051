"""Reads and changes which folders Codex trusts, which stands in Codex's own configuration.

Codex writes it there by itself, for good, when a thread begins in a git repository with a sandbox
in which it can write (measured: 0.163, 0.171).
"""

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Self

import msgspec
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.core.model.folder_trust import FolderTrust

TRUSTED = "trusted"
# Parameters of `thread/start` with which Codex may write that it trusts the folder.
_LETS_WRITE = ("sandbox", "permissions", "config")

Request = Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]]
"""Sends a request to Codex, and returns the answer."""


class TrustBefore(NamedTuple):
    """What Codex trusted before a start. `start` tells starts apart for which Codex may write
    different things.
    """

    start: tuple[str, bool, bytes]
    levels: Mapping[str, str]


class ProjectTrust:
    """The folders that a Codex trusts."""

    def __init__(self, request: Request) -> None:
        self._request = request
        # Starts for which Codex wrote nothing. A trim is one of these over and over, and each
        # question costs it milliseconds.
        self._harmless: set[tuple[str, bool, bytes]] = set()

    @classmethod
    def of_link(cls, link: CodexLink) -> Self:
        """Returns what the Codex of a link trusts."""

        async def request(method: str, params: dict[str, Any]) -> Mapping[str, Any]:
            return as_dict(msgspec.json.decode(await link.request(method, params)))

        return cls(request)

    async def of(self, cwd: str) -> FolderTrust:
        """Returns whether Codex trusts the folder of a thread that works in `cwd`."""
        folder = trusted_folder(cwd)
        answer = await self._request("config/read", {"cwd": cwd, "includeLayers": True})
        level = _levels(answer).get(folder)
        origin = as_dict(as_dict(answer.get("origins")).get(f"projects.{folder}.trust_level"))
        name = as_dict(origin.get("name")) or _user_layer(answer)
        return FolderTrust(folder, level, name.get("file"))

    async def change(self, cwd: str, *, is_trusted: bool) -> FolderTrust:
        """Has Codex trust the folder of a thread, or forget what its configuration says of it."""
        folder = trusted_folder(cwd)
        answer = await self._write(folder, is_trusted=is_trusted)
        return FolderTrust(folder, TRUSTED if is_trusted else None, answer.get("filePath"))

    async def before(self, params: Mapping[str, Any]) -> TrustBefore | None:
        """Returns what Codex trusts before a `thread/start` with these parameters, or None if that
        changes nothing.
        """
        cwd = params.get("cwd")
        if not isinstance(cwd, str) or not any(params.get(name) for name in _LETS_WRITE):
            return None
        folder = trusted_folder(cwd)
        start = _start(folder, params)
        if start in self._harmless:
            return None
        with suppress(ProviderFailure):  # the start itself is told why
            levels = _levels(await self._request("config/read", {"cwd": cwd}))
            return None if folder in levels else TrustBefore(start, levels)
        return None

    async def added(self, before: TrustBefore | None) -> list[str]:
        """Returns the folders that Codex trusts since `before`."""
        if before is None:
            return []
        with suppress(ProviderFailure):
            now = _levels(await self._request("config/read", {}))
            added = [one for one in now if now[one] == TRUSTED and one not in before.levels]
            if not added:
                self._harmless.add(before.start)
            return added
        return []

    async def put_back(self, before: TrustBefore | None) -> None:
        """Takes out what Codex has added since `before`."""
        for folder in await self.added(before):
            with suppress(ProviderFailure):
                await self._write(folder, is_trusted=False)

    async def _write(self, folder: str, *, is_trusted: bool) -> Mapping[str, Any]:
        path = f"projects.{json.dumps(folder, ensure_ascii=False)}"
        edit = (
            {"keyPath": f"{path}.trust_level", "value": TRUSTED, "mergeStrategy": "upsert"}
            if is_trusted
            else {"keyPath": path, "value": None, "mergeStrategy": "replace"}
        )
        return await self._request("config/value/write", edit)


def trusted_folder(cwd: str) -> str:
    """Returns the folder that Codex asks about for a thread in `cwd`: that of the repository's main
    working tree, or outside of a repository `cwd` itself.
    """
    whole = os.path.realpath(cwd)
    folder = whole
    while True:
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            return folder
        if os.path.isfile(git):
            return _main_tree(git) or folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return whole
        folder = parent


def _start(folder: str, params: Mapping[str, Any]) -> tuple[str, bool, bytes]:
    """Returns what decides whether Codex trusts the folder: a folder may become a repository."""
    git = os.path.join(folder, ".git")
    is_repository = os.path.isfile(git) or os.path.isfile(os.path.join(git, "HEAD"))
    asked = msgspec.json.encode([params.get(name) for name in _LETS_WRITE])
    return folder, is_repository, asked


def _main_tree(git_file: str) -> str | None:
    """Returns the main working tree of the linked one that has this `.git` file."""
    with suppress(OSError, UnicodeDecodeError), open(git_file, encoding="utf-8") as opened:
        named = opened.read(4096).removeprefix("gitdir:").strip()
        git_dir = os.path.realpath(os.path.join(os.path.dirname(git_file), named))
        trees = os.path.dirname(git_dir)
        if os.path.basename(trees) == "worktrees":
            return os.path.dirname(os.path.dirname(trees))
    return None


def _levels(answer: Mapping[str, Any]) -> dict[str, str]:
    projects = as_dict(as_dict(answer.get("config")).get("projects"))
    found = {str(path): as_dict(one).get("trust_level") for path, one in projects.items()}
    return {path: level for path, level in found.items() if isinstance(level, str)}


def _user_layer(answer: Mapping[str, Any]) -> dict[str, Any]:
    names = [as_dict(as_dict(one).get("name")) for one in answer.get("layers") or ()]
    nothing: dict[str, Any] = {}
    return next((name for name in names if name.get("type") == "user"), nothing)
