"""A git directory of the daemon's own beside the user's, whose index has every file byte for byte.

Attributes and settings that convert files (line endings, `ident`, encodings, filters such as LFS)
are off here. A blob therefore has exactly the bytes of the file, and writing the blob restores it.
Objects are written to the store, which also has the refs that keep them. Nothing else is shared.

    <git dir>/trimpoint/
        HEAD              the commit of the newest capture
        index             the captured files, with git's stat cache, so that a capture reads only
                          changed files
        info/exclude      the user's patterns, and those of `.trimpointignore`
        ignored           the paths that the newest capture ignored (see `capture.ignored`)
        lock              held during a capture
    own_settings/<object format>/, beside this module
        config            the object format
        info/attributes   switches conversions off; it has precedence over every .gitattributes

Always true: what can make git run a program is read from `own_settings` alone, which is as safe as
this code. Whoever owns the git directory, such as an agent that made the repository and still runs,
can change files in it at any moment, also between a look of ours and git's.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import anyio
import msgspec
from trimpoint_protocol.locations import HomeUnknown, xdg_directory

from trimpoint.atomic_files import replace_file
from trimpoint.git.plumbing.own_folders import read_small
from trimpoint.git.plumbing.process import GitRun, gather, git_answer, run_git
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.store import (
    ensure_head,
    own_git_dir,
    replace_if_other,
    set_newest,
    unusable,
    with_our_objects,
)

_OWN_SETTINGS = Path(__file__).with_name("own_settings")
# Settings of the user for finding files and comparing names apply here too; settings that change
# the bytes or the mode of files do not.
_IGNORES_CASE = "core.ignorecase"
_TAKEN_OVER = (
    _IGNORES_CASE,
    "core.precomposeunicode",
    "core.preloadindex",
    "core.fscache",
)
_EXACT = (
    "core.autocrlf=false",
    "core.eol=lf",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.untrackedCache=false",
    "core.splitIndex=true",
    "core.protectNTFS=false",
    "index.sparse=false",
)


_EXCLUDES_FILE = "core.excludesfile"
IGNORE_FILE = ".trimpointignore"
"""A file at the top of a worktree with patterns of files that are not captured, in the format of
`.gitignore`.
"""

_MAX_EXCLUDE_BYTES = 4 * 1024 * 1024
_WHO = "trimpoint"
_WHOSE_ADDRESS = "trimpoint@localhost"


class Commit(msgspec.Struct, frozen=True):
    """A commit that the daemon made."""

    id: str
    tree: str
    message: str


class ShadowRepository:
    """Creates runs of git (`GitRun`) on a work tree: with the daemon's own index, or with the
    user's git directory and settings.
    """

    def __init__(self, repository: Repository, deadline_s: float) -> None:
        self.repository = repository
        self.dir = repository.private_dir
        self._deadline_s = deadline_s
        self._inherited_settings: tuple[str, ...] = ()

    @property
    def excludes(self) -> Path:
        """Returns the path of the file with patterns of untracked files that are not captured, in
        addition to the `.gitignore` files.
        """
        return self.dir / "info" / "exclude"

    @property
    def index(self) -> Path:
        """Returns the path of the daemon's index file."""
        return self.dir / "index"

    @property
    def ignored(self) -> Path:
        """Returns the path of the file with the paths that the newest capture ignored."""
        return self.dir / "ignored"

    async def open(self) -> "Commit | None":
        """Creates the directory if needed, reads the user's settings, and finds the newest capture.
        The caller must hold the lock.

        :returns: the commit of the newest capture, or None if there is none or git has deleted it.
            If the commit exists, so do all objects that the index refers to.
        :raises GitFailed: when the directory cannot be written, or git refuses the repository
        """
        try:
            await anyio.to_thread.run_sync(self._make)
        except OSError as error:
            raise unusable(error, self.dir) from error
        newest = self.run(
            "cat-file", "--batch", doing="find the newest capture", stdin=b"HEAD\n", may_fail=True
        )
        listed, found = await gather(
            [self.users("config", "-z", "--list", doing="read its settings"), newest]
        )
        settings = _settings(listed.stdout)
        self._inherited_settings = tuple(
            _setting(name, settings[name])
            for name in _TAKEN_OVER
            if name in settings and (name != _IGNORES_CASE or self._finds_names_in_any_case())
        )
        try:
            await anyio.to_thread.run_sync(self._write_excludes, settings.get(_EXCLUDES_FILE))
        except OSError as error:
            raise unusable(error, self.dir) from error
        if not await anyio.Path(self.index).exists():
            return None
        commit = read_commit(found.stdout)
        if commit is not None:
            # In case it is damaged, or the daemon was killed before it was set.
            await anyio.to_thread.run_sync(set_newest, self.repository, commit.id)
        return commit

    def _finds_names_in_any_case(self) -> bool:
        """Returns whether the disk does what `core.ignorecase` says. In a repository that was
        copied from another disk it may not, and git then misses a rename of the case alone.
        """
        try:
            names = (self.repository.worktree / name for name in (".git", ".GIT"))
            return os.path.samefile(*names)
        except OSError:
            return False

    def run(
        self,
        *arguments: str | bytes,
        doing: str,
        stdin: bytes = b"",
        may_fail: bool = False,
        index: Path | None = None,
    ) -> GitRun:
        """Returns a run of git with the daemon's own index, or `index`, and without conversions."""
        return GitRun(
            git=self.repository.git,
            arguments=arguments,
            doing=doing,
            cwd=self.repository.worktree,
            variables=self._variables() | ({"GIT_INDEX_FILE": str(index)} if index else {}),
            settings=(
                *self._inherited_settings,
                *_EXACT,
                f"{_EXCLUDES_FILE}={self.excludes}",
            ),
            stdin=stdin,
            deadline_s=self._deadline_s,
            may_fail=may_fail,
            is_private=True,
        )

    async def answer(self, *arguments: str | bytes, doing: str, stdin: bytes = b"") -> bytes:
        """Runs git as `run` describes and returns its stdout.

        :raises GitFailed: when git failed
        """
        return await git_answer(self.run(*arguments, doing=doing, stdin=stdin))

    def users(
        self,
        *arguments: str | bytes,
        doing: str,
        stdin: bytes = b"",
        index: Path | None = None,
        max_bytes: int | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> GitRun:
        """Returns a run of git with the user's git directory and settings. Git finds the directory
        itself and checks its owner each time.

        The run can also read the objects of checkpoints.
        """
        return GitRun(
            git=self.repository.git,
            arguments=arguments,
            doing=doing,
            cwd=self.repository.worktree,
            variables=with_our_objects(self.repository)
            | ({"GIT_INDEX_FILE": str(index)} if index else {})
            | dict(variables or {}),
            stdin=stdin,
            deadline_s=self._deadline_s,
            max_bytes=max_bytes,
        )

    async def write_users(self, *arguments: str, doing: str, stdin: bytes = b"") -> bytes:
        """Runs git as `users` describes, for arguments that write refs, and returns its stdout. No
        hook runs, neither a file nor one that the settings name (git 2.54).

        :raises GitFailed: when git failed
        """
        names = ("config", "-z", "--name-only", "--get-regexp", r"^hook\.")
        listed = await run_git(self.users(*names, doing=doing))
        variables = _without_hooks(listed.stdout)
        return await git_answer(
            self.users(*arguments, doing=doing, stdin=stdin, variables=variables)
        )

    async def commit(self, message: str) -> "Commit":
        """Commits the content of the index without parents, and records the commit as the newest
        capture.

        :raises GitFailed: when an object is missing, or the disk is full
        """
        tree = (await self.answer("write-tree", doing="write a tree")).decode().strip()
        commit = await self.commit_tree(tree, message)
        await anyio.to_thread.run_sync(self._set_head, commit.id)
        return commit

    async def commit_tree(self, tree: str, message: str) -> "Commit":
        """Commits a tree without parents. The commit is not recorded anywhere.

        :raises GitFailed: when the disk is full
        """
        committed = await self.answer(
            "commit-tree", tree, doing="write a commit", stdin=message.encode()
        )
        return Commit(committed.decode().strip(), tree, message)

    def _set_head(self, commit: str) -> None:
        """Records the commit that has the content of the index."""
        replace_file(self.dir / "HEAD", f"{commit}\n".encode())
        set_newest(self.repository, commit)

    def _variables(self) -> dict[str, str]:
        return {
            **own_git_dir(self.dir),
            "GIT_COMMON_DIR": str(_OWN_SETTINGS / self.repository.hash_name),
            "GIT_WORK_TREE": str(self.repository.worktree),
            "GIT_OBJECT_DIRECTORY": str(self.repository.store_objects),
            "GIT_AUTHOR_NAME": _WHO,
            "GIT_AUTHOR_EMAIL": _WHOSE_ADDRESS,
            "GIT_COMMITTER_NAME": _WHO,
            "GIT_COMMITTER_EMAIL": _WHOSE_ADDRESS,
            # Git may refresh the daemon's index as a side effect.
            "GIT_OPTIONAL_LOCKS": "1",
        }

    def _make(self) -> None:
        # The lock is held, so this file is left over from a git process that was killed.
        (self.dir / "index.lock").unlink(missing_ok=True)
        ensure_head(self.dir)

    def _write_excludes(self, configured: bytes | None) -> None:
        # Git is given one file, so it has the user's for all repositories, too.
        named = _users_excludes(configured)
        of_all = _read_users(named and self.repository.worktree / named)
        replace_if_other(self.excludes, of_all + b"\n" + _excludes(self.repository))


def read_commit(batch: bytes) -> Commit | None:
    """Returns the first commit in the output of `cat-file --batch`, or None if the object is
    missing or no commit.
    """
    header, _, body = batch.partition(b"\n")
    words = header.decode(errors="replace").split(" ")
    if words[1:2] != ["commit"]:
        return None
    fields, _, message = body.decode(errors="replace").partition("\n\n")
    return Commit(
        words[0], fields.split("\n", 1)[0].removeprefix("tree "), message.removesuffix("\n")
    )


def _without_hooks(listed: bytes) -> dict[str, str]:
    """Returns the variables that switch off each hook among these names of settings. On the command
    line, a name could not have a `=` in it.
    """
    hooks = {name.rpartition(b".")[0] for name in listed.split(b"\0") if name.count(b".") > 1}
    variables = {"GIT_CONFIG_COUNT": str(len(hooks))}
    for number, hook in enumerate(sorted(hooks)):
        variables[f"GIT_CONFIG_KEY_{number}"] = f"{os.fsdecode(hook)}.enabled"
        variables[f"GIT_CONFIG_VALUE_{number}"] = "false"
    return variables


def _settings(listed: bytes) -> dict[str, bytes | None]:
    """Returns the settings of `config -z --list`; None for one without a value, which is true."""
    settings: dict[str, bytes | None] = {}
    for entry in listed.split(b"\0"):
        name, separator, value = entry.partition(b"\n")
        settings[name.decode(errors="replace")] = value if separator else None
    return settings


def _setting(name: str, value: bytes | None) -> str:
    return name if value is None else f"{name}={os.fsdecode(value)}"


def _users_excludes(configured: bytes | None) -> Path | None:
    """Returns the file of patterns for all repositories of the user, as git finds it."""
    try:
        if configured is None:
            return xdg_directory(os.environ, "XDG_CONFIG_HOME", ".config") / "git" / "ignore"
        return Path(os.fsdecode(configured)).expanduser() if configured else None
    except (HomeUnknown, RuntimeError):  # of nobody's home
        return None


def _read_users(path: Path | None) -> bytes:
    """Returns the content of a file that git passes over if it cannot be read."""
    try:
        return read_small(path, _MAX_EXCLUDE_BYTES, follows=True) if path is not None else b""
    except OSError:
        return b""


def _excludes(repository: Repository) -> bytes:
    """Returns the patterns of the user's exclude file and of `.trimpointignore`."""
    users = read_small(repository.common_dir / "info" / "exclude", _MAX_EXCLUDE_BYTES, follows=True)
    return users + b"\n" + read_small(repository.worktree / IGNORE_FILE, _MAX_EXCLUDE_BYTES)
