"""Captures a work tree: commits every file that is tracked or not ignored, without a ref to the
commit.

Nothing of the user's is written. Objects, index, HEAD, refs, stash, reflogs and the output of `git
status` stay unchanged.
"""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from typing import Literal

import anyio
import msgspec

from trimpoint.config.sections import CheckpointsSection
from trimpoint.git.capture.ignored import (
    Listed,
    ignoring_changed,
    read_ignored,
    write_ignored,
)
from trimpoint.git.capture.omissions import (
    CheckpointMessage,
    LeftOutReason,
    Omission,
    message_of,
    read_message,
)
from trimpoint.git.capture.renames import renamed_away
from trimpoint.git.capture.untracked import (
    called_like_secrets,
    sizes_of,
    still_too_much,
    too_much,
)
from trimpoint.git.dot_git import is_repository
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
    "--ignored=matching",
    "--no-renames",
    "--ignore-submodules=all",
)
_TRACKED_BUT_IGNORED = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
_UNREADABLE_FOLDER = re.compile(rb"could not open directory '(.*?/)': Permission denied", re.DOTALL)
_UNPROCESSABLE = re.compile(rb"Unable to process path (.*)\n\Z", re.DOTALL)
# A file may vanish or become unreadable after the listing; then the files are listed again.
_ATTEMPTS = 5


class Checkpoint(msgspec.Struct, frozen=True):
    """A captured work tree. Git may delete `commit` unless `keep` gives it a ref. `left_out` are
    the omissions; `permissions` is None in checkpoints of older versions. The checkpoint has or
    lacks the paths `ignoring_changed` only because what git ignores has changed.
    """

    commit: str
    tree: str
    left_out: tuple[Omission, ...] = ()
    permissions: Permissions | None = None
    ignoring_changed: frozenset[bytes] = frozenset()

    @property
    def state(self) -> State:
        """Returns the part of the checkpoint that is needed for comparing it."""
        return State(self.tree, self.permissions)


async def capture(repository: Repository, limits: CheckpointsSection | None = None) -> Checkpoint:
    """Captures the whole work tree. Capturing an unchanged work tree may return the same commit.

    :raises GitFailed: when the capture failed; nothing has changed
    """
    limits = limits or CheckpointsSection()
    async with worktree_lock(repository, limits.deadline_s):
        try:
            with anyio.fail_after(limits.deadline_s):
                return await _captured(ShadowRepository(repository, limits.deadline_s), limits)
        except TimeoutError:
            raise GitFailed(_DOING, f"it took longer than {limits.deadline_s:g} seconds") from None
        except OSError as error:
            # For example, the daemon's own folder was removed meanwhile.
            raise GitFailed(
                _DOING, f"{error.filename} cannot be used ({error.strerror})"
            ) from error


async def _captured(private: ShadowRepository, limits: CheckpointsSection) -> Checkpoint:
    newest = await private.open()
    try:
        return await _Capture(private, limits).result(newest or await write_initial_index(private))
    except GitFailed as failure:
        if failure.hint:
            raise
    # The daemon's index is damaged, or refers to deleted objects. It is created again from the
    # user's index; if that is damaged too, the second attempt raises.
    return await _Capture(private, limits).result(await write_initial_index(private))


class _WorktreeStatus(msgspec.Struct):
    """The differences between the work tree and the daemon's index. `untracked` are the changed
    files that are not in the index.
    """

    changed: set[bytes] = msgspec.field(default_factory=set[bytes])
    untracked: set[bytes] = msgspec.field(default_factory=set[bytes])
    gone: set[bytes] = msgspec.field(default_factory=set[bytes])
    left_out: dict[bytes, Omission] = msgspec.field(default_factory=dict[bytes, Omission])
    listed: Listed = msgspec.field(default_factory=Listed)
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
    def __init__(self, private: ShadowRepository, limits: CheckpointsSection) -> None:
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
            await self._forget_renamed(status)
            if await self._stage(status):
                return await self._committed(newest, status)
        raise GitFailed(
            _DOING,
            "files keep changing while they are read",
            "Try again when less is being written.",
        )

    async def _leave_out_untracked(self, newest: Commit, status: _WorktreeStatus) -> None:
        """Leaves out secrets and the untracked files above the limit. Files in the user's index are
        never left out for these reasons.
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
        for path in too_much(
            sizes, still_too_much(_message(newest).left_out), limits.max_untracked_bytes
        ):
            status.leave_out(path, Omission(path, "tooMuch", sizes[path]))

    async def _forget_renamed(self, status: _WorktreeStatus) -> None:
        fresh = status.untracked & status.changed
        if fresh:
            listed = await self._private.answer("ls-files", "-z", doing=_DOING)
            root = self._private.repository.worktree
            for path in await anyio.to_thread.run_sync(
                renamed_away, root, fresh, _in_order(listed)
            ):
                status.forget(path)

    async def _committed(self, newest: Commit, status: _WorktreeStatus) -> Checkpoint:
        left_out = tuple(sorted(status.left_out.values(), key=lambda each: each.path))
        listed = await self._private.answer("ls-files", "-z", doing=_DOING)
        root = os.fsencode(self._private.repository.worktree)
        permissions = await anyio.to_thread.run_sync(read_permissions, root, _in_order(listed))
        ignored_before = await anyio.to_thread.run_sync(read_ignored, self._private.ignored)
        changed = ignoring_changed(
            status.listed,
            _in_order(listed),
            before=ignored_before,
            earlier=_message(newest).ignoring_changed,
        )
        message = message_of(left_out, permissions, changed)
        if status.is_committed and newest.message == message:
            commit = newest
        else:
            commit = await self._private.commit(message)
        if status.listed.ignored != ignored_before:
            await anyio.to_thread.run_sync(
                write_ignored, self._private.ignored, status.listed.ignored
            )
        return Checkpoint(commit.id, commit.tree, left_out, permissions, changed)

    async def _stage(self, status: _WorktreeStatus) -> bool:
        """Updates the daemon's index. Returns False if a file could not be read; that file is
        remembered for the next attempt.
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
        # Files that have become ignored, or are no longer ignored, since the last capture.
        forced, ignored = _paths(tracked.stdout), _paths(captured.stdout)
        late = _WorktreeStatus(
            changed=forced - ignored, gone=ignored - forced, untracked=forced - ignored
        )
        await anyio.to_thread.run_sync(self._omit_unreadable, late)
        status.left_out |= late.left_out
        status.listed.added |= (status.untracked & status.changed) | late.changed
        status.listed.hidden |= late.gone
        status.listed.ignored |= late.gone
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
        """Returns the folders above `paths` that have become repositories of their own. Git still
        lists files in them if the index already has files there.
        """
        root = os.fsencode(self._private.repository.worktree)
        return {
            folder
            for folder in folders_of(paths)
            if is_repository(os.path.join(root, folder, b".git"))
        }

    async def _skip_folder(self, folder: bytes, status: _WorktreeStatus) -> None:
        """Leaves out the nested repository `folder`, except for files of it that are in the user's
        index.
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
        """Leaves out paths that are no regular files or links, are too large or cannot be read."""
        root = os.fsencode(self._private.repository.worktree)
        for path in list(status.changed):
            reason, size_bytes = self._omission_reason(os.path.join(root, path), path)
            if reason == "vanished":
                status.forget(path)
            elif reason is not None:
                at = path + b"/" if reason == "nestedRepository" else path
                status.leave_out(path, Omission(at, reason, size_bytes))

    def _omission_reason(
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
        if facts.st_size > self._limits.max_file_bytes:
            return "tooLarge", facts.st_size
        readable = path not in self._refused and os.access(
            full, os.R_OK, effective_ids=os.access in os.supports_effective_ids
        )
        return (None if readable else "unreadable"), None


def _message(newest: Commit) -> CheckpointMessage:
    try:
        return read_message(newest.message)
    except ValueError:
        return CheckpointMessage()  # the commit is the one of a new index


def _read_status(output: GitOutput) -> _WorktreeStatus:
    status = _WorktreeStatus()
    for line in output.stdout.split(b"\0")[:-1]:
        in_index, in_worktree, path = line[0:1], line[1:2], line[3:]
        if in_index == b"!":
            status.listed.ignored.add(path)
            continue
        if in_index not in b" ?":
            status.is_committed = False
            status.listed.note_staged(in_index, path)
        if path.endswith(b"/"):
            status.left_out[path] = Omission(path, "nestedRepository")
        elif in_worktree == b"D":
            status.gone.add(path)
            status.listed.deleted.add(path)
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
