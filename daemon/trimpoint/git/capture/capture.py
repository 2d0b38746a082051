"""Capturing a work tree: every file that is tracked or not ignored, as it is, in a commit that
nothing refers to.

Always true: nothing of the user's is written. Objects, index, HEAD, refs, stash, reflogs and what
`git status` says are as before.
"""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from typing import Literal

import anyio
import msgspec

from trimpoint.git.capture.omissions import LeftOutReason, Omission, message_of, read_message
from trimpoint.git.capture.untracked import (
    SECRET_NAMES,
    called_like_secrets,
    sizes_of,
    still_too_much,
    too_much,
)
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.compare import State
from trimpoint.git.plumbing.initial_index import write_initial_index
from trimpoint.git.plumbing.locks import worktree_lock
from trimpoint.git.plumbing.permissions import Permissions, read_permissions
from trimpoint.git.plumbing.process import GitOutput, GitRun, gather, git_failure, git_output
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.shadow_repository import Commit, ShadowRepository
from trimpoint.git.plumbing.staging import STAGING_FOLDER
from trimpoint.git.plumbing.worktree import folders_of

_DOING = "capture the files"
_STATUS = (
    "status",
    "--porcelain",
    "-z",
    "--untracked-files=all",
    "--no-renames",
    "--ignore-submodules=all",
)
_TRACKED_BUT_IGNORED = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
_UNREADABLE_FOLDER = re.compile(rb"could not open directory '(.*?/)': Permission denied", re.DOTALL)
_UNPROCESSABLE = re.compile(rb"Unable to process path (.*)\n\Z", re.DOTALL)
# A file that vanishes or is locked away between the listing and the reading: look again.
_ATTEMPTS = 5


class CaptureLimits(msgspec.Struct, frozen=True):
    """`max_file_bytes`: larger files are left out unless they were captured before and are
    unchanged; None: no cap.

    Of untracked files that were not captured before, no more than `max_untracked_bytes` are taken
    in, and none that is called like one of `secret_names`.
    """

    max_file_bytes: int | None = 64 * 1024 * 1024
    deadline_s: float = 120.0
    max_untracked_bytes: int = 128 * 1024 * 1024
    secret_names: tuple[str, ...] = SECRET_NAMES


class Checkpoint(msgspec.Struct, frozen=True):
    """A work tree at one moment. `commit` may be collected by git unless `keep` gives it a ref."""

    commit: str
    tree: str
    left_out: tuple[Omission, ...] = ()
    permissions: Permissions | None = None

    @property
    def state(self) -> State:
        """Returns what comparing it needs."""
        return State(self.tree, self.permissions)


async def capture(repository: Repository, limits: CaptureLimits | None = None) -> Checkpoint:
    """Capture the whole work tree. The same state captured again may give the same commit.

    :raises GitFailed: it could not; nothing has changed
    """
    limits = limits or CaptureLimits()
    async with worktree_lock(repository, limits.deadline_s):
        try:
            with anyio.fail_after(limits.deadline_s):
                return await _captured(ShadowRepository(repository, limits.deadline_s), limits)
        except TimeoutError:
            raise GitFailed(_DOING, f"it took longer than {limits.deadline_s:g} seconds") from None
        except OSError as error:
            # Our own folder was removed under our hands, say.
            raise GitFailed(
                _DOING, f"{error.filename} cannot be used ({error.strerror})"
            ) from error


async def _captured(private: ShadowRepository, limits: CaptureLimits) -> Checkpoint:
    newest = await private.open()
    try:
        return await _Capture(private, limits).result(newest or await write_initial_index(private))
    except GitFailed as failure:
        if failure.hint:
            raise
    # Our index is damaged, or names objects that are gone. The person's is not, or the second
    # attempt says so.
    return await _Capture(private, limits).result(await write_initial_index(private))


class _WorktreeStatus(msgspec.Struct):
    """The difference between work tree and our index. `untracked`: the changed files that our index
    lacks.
    """

    changed: set[bytes] = msgspec.field(default_factory=set[bytes])
    untracked: set[bytes] = msgspec.field(default_factory=set[bytes])
    gone: set[bytes] = msgspec.field(default_factory=set[bytes])
    left_out: dict[bytes, Omission] = msgspec.field(default_factory=dict[bytes, Omission])
    is_committed: bool = True

    def leave_out(self, path: bytes, left_out: Omission) -> None:
        self.left_out[left_out.path] = left_out
        self.forget(path)

    def forget(self, path: bytes) -> None:
        self.changed.discard(path)
        if path not in self.untracked:
            self.gone.add(path)

    @property
    def is_as_before(self) -> bool:
        return not (self.changed or self.gone)


class _Capture:
    def __init__(self, private: ShadowRepository, limits: CaptureLimits) -> None:
        self._private = private
        self._limits = limits
        self._refused: set[bytes] = set()

    async def result(self, newest: Commit) -> Checkpoint:
        for _ in range(_ATTEMPTS):
            status = _read_status(await git_output(self._private.run(*_STATUS, doing=_DOING)))
            await anyio.to_thread.run_sync(self._omit_unreadable, status)
            await self._leave_out_untracked(newest, status)
            for folder in await anyio.to_thread.run_sync(
                self._repositories_above, status.changed | status.gone
            ):
                await self._skip_folder(folder, status)
            if await self._stage(status):
                return await self._committed(newest, status)
        raise GitFailed(
            _DOING,
            "files keep changing while they are read",
            "Try again when less is being written.",
        )

    async def _leave_out_untracked(self, newest: Commit, status: _WorktreeStatus) -> None:
        """Leave out secrets, and what is too much. A file that the person's index has is none of
        these.
        """
        limits, root = self._limits, os.fsencode(self._private.repository.worktree)
        fresh = status.untracked & status.changed
        secrets = called_like_secrets(fresh, limits.secret_names)
        sizes = await anyio.to_thread.run_sync(sizes_of, root, fresh - secrets)
        if secrets or sum(sizes.values()) > limits.max_untracked_bytes:
            listed = await git_output(self._private.users("ls-files", "-z", doing=_DOING))
            tracked = _paths(listed.stdout)
            secrets -= tracked
            sizes = {path: size for path, size in sizes.items() if path not in tracked}
        for path in secrets:
            status.leave_out(path, Omission(path, "secret"))
        for path in too_much(sizes, _too_much_before(newest), limits.max_untracked_bytes):
            status.leave_out(path, Omission(path, "tooMuch", sizes[path]))

    async def _committed(self, newest: Commit, status: _WorktreeStatus) -> Checkpoint:
        left_out = tuple(sorted(status.left_out.values(), key=lambda each: each.path))
        listed = await self._private.answer("ls-files", "-z", doing=_DOING)
        root = os.fsencode(self._private.repository.worktree)
        permissions = await anyio.to_thread.run_sync(read_permissions, root, _in_order(listed))
        message = message_of(left_out, permissions)
        if status.is_committed and newest.message == message:
            commit = newest
        else:
            commit = await self._private.commit(message)
        return Checkpoint(commit.id, commit.tree, left_out, permissions)

    async def _stage(self, status: _WorktreeStatus) -> bool:
        """Bring our index up to date; False when a file would not be read, which is remembered for
        another look.
        """
        status.is_committed &= status.is_as_before
        await self._remove(status)
        excludes = f"--exclude-from={self._private.excludes}"
        tracked, captured, *added = await gather(
            [
                self._private.users(*_TRACKED_BUT_IGNORED, excludes, doing=_DOING),
                self._private.run(*_TRACKED_BUT_IGNORED, doing=_DOING),
                *self._additions(status),
            ]
        )
        if not self._are_read(added):
            return False
        # What was not ignored at the last capture and is now, and the other way round.
        forced, ignored = _paths(tracked.stdout), _paths(captured.stdout)
        late = _WorktreeStatus(
            changed=forced - ignored, gone=ignored - forced, untracked=forced - ignored
        )
        await anyio.to_thread.run_sync(self._omit_unreadable, late)
        status.left_out |= late.left_out
        status.is_committed &= late.is_as_before
        await self._remove(late)
        return self._are_read(await gather(self._additions(late)))

    async def _remove(self, status: _WorktreeStatus) -> None:
        if status.gone:
            await self._private.answer(
                "update-index",
                "-z",
                "--force-remove",
                "--stdin",
                doing=_DOING,
                stdin=_listed(status.gone),
            )

    def _additions(self, status: _WorktreeStatus) -> list[GitRun]:
        arguments = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
        run = self._private.run(
            *arguments, doing=_DOING, stdin=_listed(status.changed), may_fail=True
        )
        return [run] if status.changed else []

    def _are_read(self, added: Sequence[GitOutput]) -> bool:
        for output in added:
            refused = _UNPROCESSABLE.search(output.stderr)
            if output.status != 0 and refused is None:
                raise git_failure(_DOING, output.stderr)
            if output.status != 0 and refused is not None:
                self._refused.add(refused.group(1))
                return False
        return True

    def _repositories_above(self, paths: Iterable[bytes]) -> set[bytes]:
        """Folders that have become repositories of their own. Git goes on looking into those that
        our index has files in.
        """
        root = os.fsencode(self._private.repository.worktree)
        return {
            folder
            for folder in folders_of(paths)
            if os.path.lexists(os.path.join(root, folder, b".git"))
        }

    async def _skip_folder(self, folder: bytes, status: _WorktreeStatus) -> None:
        """Keep nothing that lies in the repository `folder`, except what the person's index has of
        it.
        """
        listing = ("ls-files", "-z", "--", folder)
        captured, tracked = await gather(
            [self._private.run(*listing, doing=_DOING), self._private.users(*listing, doing=_DOING)]
        )
        theirs = _paths(tracked.stdout)
        status.left_out[folder + b"/"] = Omission(folder + b"/", "nestedRepository")
        status.gone |= _paths(captured.stdout) - theirs
        status.changed = {
            path for path in status.changed if path in theirs or not path.startswith(folder + b"/")
        }

    def _omit_unreadable(self, status: _WorktreeStatus) -> None:
        """Leave out what is no file, or too large, or cannot be read."""
        root = os.fsencode(self._private.repository.worktree)
        for path in list(status.changed):
            reason, size_bytes = self._reason_against(os.path.join(root, path), path)
            if reason == "vanished":
                status.forget(path)
            elif reason is not None:
                at = path + b"/" if reason == "nestedRepository" else path
                status.leave_out(path, Omission(at, reason, size_bytes))

    def _reason_against(
        self, full: bytes, path: bytes
    ) -> tuple[LeftOutReason | Literal["vanished"] | None, int | None]:
        try:
            facts = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            return "vanished", None
        except OSError:
            return "unreadable", None
        if stat.S_ISLNK(facts.st_mode):
            return None, None
        if not stat.S_ISREG(facts.st_mode):
            return "nestedRepository" if stat.S_ISDIR(facts.st_mode) else "notAFile", None
        cap = self._limits.max_file_bytes
        if cap is not None and facts.st_size > cap:
            return "tooLarge", facts.st_size
        readable = path not in self._refused and os.access(
            full, os.R_OK, effective_ids=os.access in os.supports_effective_ids
        )
        return (None if readable else "unreadable"), None


def _too_much_before(newest: Commit) -> set[bytes]:
    try:
        return still_too_much(read_message(newest.message).left_out)
    except ValueError:
        return set()  # the index was made anew


def _read_status(output: GitOutput) -> _WorktreeStatus:
    status = _WorktreeStatus()
    for line in output.stdout.split(b"\0")[:-1]:
        in_index, in_worktree, path = line[0:1], line[1:2], line[3:]
        if in_index not in b" ?":
            status.is_committed = False
        if path.endswith(b"/"):
            status.left_out[path] = Omission(path, "nestedRepository")
        elif in_worktree == b"D":
            status.gone.add(path)
        elif in_worktree != b" " and STAGING_FOLDER not in path.split(b"/"):
            status.changed.add(path)
            if in_worktree == b"?":
                status.untracked.add(path)
    for folder in _UNREADABLE_FOLDER.findall(output.stderr):
        status.left_out[folder] = Omission(folder, "unreadable")
    return status


def _paths(listed: bytes) -> set[bytes]:
    return set(_in_order(listed))


def _in_order(listed: bytes) -> list[bytes]:
    return [path for path in listed.split(b"\0") if path]


def _listed(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(paths))
