"""Our own git directory beside the user's: an index in which every file is what it is, byte for
byte.

Always true: attributes and settings that convert files (line endings, `ident`, encodings, filters
such as LFS) are off in here, so a blob holds exactly the bytes of the file, and writing the blob
out is restoring it. Objects go to the store, where the refs that keep them are (see `store`).
Nothing else is shared.

    <git dir>/trimpoint/
        HEAD              the commit of the newest capture index             what was captured, with
        git's stat cache, so that a capture reads only what changed info/attributes   switches
        conversions off; this file wins over every .gitattributes info/exclude      the user's, and
        what `.trimpointignore` says config            the object format lock              held by
        the one who captures
"""

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import msgspec

from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.process import GitRun, gather, git_answer
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.store import (
    config_of,
    make_store,
    set_newest,
    with_our_objects,
    write_if_other,
)

_ATTRIBUTES = "* -text !eol !crlf -ident !filter !working-tree-encoding\n"

# What the user has set for looking at files and names holds in here too; whatever decides what a
# file's bytes or mode are does not.
_TAKEN_OVER = (
    "core.excludesfile",
    "core.ignorecase",
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


IGNORE_FILE = ".trimpointignore"
"""Lies at the top of a worktree, and says what is not to be captured, as a `.gitignore` does."""

_WHO = "trimpoint"
_WHOSE_ADDRESS = "trimpoint@localhost"


class Commit(msgspec.Struct, frozen=True):
    """A commit of ours."""

    id: str
    tree: str
    message: str


class ShadowRepository:
    """Runs git on a work tree with our index, or with the user's settings where those are asked
    for.
    """

    def __init__(self, repository: Repository, deadline_s: float) -> None:
        self.repository = repository
        self.dir = repository.private_dir
        self._deadline_s = deadline_s
        self._inherited_settings: tuple[str, ...] = ()

    @property
    def excludes(self) -> Path:
        """Patterns of untracked files that are not captured, on top of the `.gitignore` files."""
        return self.dir / "info" / "exclude"

    @property
    def index(self) -> Path:
        """Returns the path of our index file."""
        return self.dir / "index"

    async def open(self) -> "Commit | None":
        """Make the directory whole, learn of the user's settings, and find the newest capture. With
        the lock held.

        :returns: its commit; None when there is none, or git has collected it. Git keeps whatever a
            kept commit refers to, so with the commit, all that the index names is there.
        :raises GitFailed: it cannot be written, or git refuses the repository
        """
        try:
            await anyio.to_thread.run_sync(self._make)
        except OSError as error:
            raise GitFailed(
                "keep checkpoints", f"{self.dir} cannot be written ({error.strerror})"
            ) from error
        newest = self.run(
            "cat-file", "--batch", doing="find the newest capture", stdin=b"HEAD\n", may_fail=True
        )
        listed, found = await gather(
            [self.users("config", "-z", "--list", doing="read its settings"), newest]
        )
        self._inherited_settings = tuple(_inherited_settings(listed.stdout))
        return read_commit(found.stdout) if await anyio.Path(self.index).exists() else None

    def run(
        self,
        *arguments: str | bytes,
        doing: str,
        stdin: bytes = b"",
        may_fail: bool = False,
        index: Path | None = None,
    ) -> GitRun:
        """Runs git with our index, or the one named, and exact bytes."""
        return GitRun(
            git=self.repository.git,
            arguments=arguments,
            doing=doing,
            cwd=self.repository.worktree,
            variables=self._variables() | ({"GIT_INDEX_FILE": str(index)} if index else {}),
            settings=(*self._inherited_settings, *_EXACT),
            stdin=stdin,
            deadline_s=self._deadline_s,
            may_fail=may_fail,
        )

    async def answer(self, *arguments: str | bytes, doing: str, stdin: bytes = b"") -> bytes:
        """Returns the stdout of such a run.

        :raises GitFailed: it failed
        """
        return await git_answer(self.run(*arguments, doing=doing, stdin=stdin))

    def users(
        self,
        *arguments: str | bytes,
        doing: str,
        stdin: bytes = b"",
        index: Path | None = None,
        max_bytes: int | None = None,
    ) -> GitRun:
        """Runs git with the user's own git directory and settings, found anew: git checks its owner
        each time.

        It finds the objects of checkpoints too.
        """
        return GitRun(
            git=self.repository.git,
            arguments=arguments,
            doing=doing,
            cwd=self.repository.worktree,
            variables=with_our_objects(self.repository)
            | ({"GIT_INDEX_FILE": str(index)} if index else {}),
            stdin=stdin,
            deadline_s=self._deadline_s,
            max_bytes=max_bytes,
        )

    async def commit(self, message: str) -> "Commit":
        """Commit what the index holds, without parents, and note the commit as the newest capture.

        :raises GitFailed: an object is missing, or the disk is full
        """
        tree = (await self.answer("write-tree", doing="write a tree")).decode().strip()
        commit = await self.commit_tree(tree, message)
        await anyio.to_thread.run_sync(self._set_head, commit.id)
        return commit

    async def commit_tree(self, tree: str, message: str) -> "Commit":
        """Commit a tree without parents, and leave it at that.

        :raises GitFailed: the disk is full
        """
        committed = await self.answer(
            "commit-tree", tree, doing="write a commit", stdin=message.encode()
        )
        return Commit(committed.decode().strip(), tree, message)

    def _set_head(self, commit: str) -> None:
        """Note the commit that the index was written to."""
        fresh = self.dir / "HEAD.new"
        fresh.write_text(f"{commit}\n")
        fresh.replace(self.dir / "HEAD")
        set_newest(self.repository, commit)

    def _variables(self) -> dict[str, str]:
        return {
            "GIT_DIR": str(self.dir),
            "GIT_WORK_TREE": str(self.repository.worktree),
            "GIT_OBJECT_DIRECTORY": str(self.repository.store_objects),
            "GIT_AUTHOR_NAME": _WHO,
            "GIT_AUTHOR_EMAIL": _WHOSE_ADDRESS,
            "GIT_COMMITTER_NAME": _WHO,
            "GIT_COMMITTER_EMAIL": _WHOSE_ADDRESS,
            # Our index may be refreshed in passing.
            "GIT_OPTIONAL_LOCKS": "1",
        }

    def _make(self) -> None:
        make_store(self.repository)
        for folder in ("refs", "info"):
            (self.dir / folder).mkdir(exist_ok=True)
        # It is left over from a git that was killed: we have the lock.
        (self.dir / "index.lock").unlink(missing_ok=True)
        write_if_other(self.dir / "config", config_of(self.repository, bare=False))
        write_if_other(self.dir / "info" / "attributes", _ATTRIBUTES)
        _write_if_other(self.excludes, _excludes(self.repository))
        if not (self.dir / "HEAD").exists():
            (self.dir / "HEAD").write_text("ref: refs/heads/none\n")


def read_commit(batch: bytes) -> Commit | None:
    """Returns the first commit in what `cat-file --batch` says; None when it says that there is
    none.
    """
    header, _, body = batch.partition(b"\n")
    words = header.decode(errors="replace").split(" ")
    if words[1:2] != ["commit"]:
        return None
    fields, _, message = body.decode(errors="replace").partition("\n\n")
    return Commit(
        words[0], fields.split("\n", 1)[0].removeprefix("tree "), message.removesuffix("\n")
    )


def _inherited_settings(listed: bytes) -> Sequence[str]:
    settings: dict[str, str] = {}
    for entry in listed.split(b"\0"):
        name = entry.partition(b"\n")[0].decode(errors="replace")
        if name in _TAKEN_OVER:
            # Without a newline it is a switch without a value, which means true.
            settings[name] = os.fsdecode(entry).replace("\n", "=", 1)
    return list(settings.values())


def _excludes(repository: Repository) -> bytes:
    """Returns the patterns of the user's own file, and those that hold for checkpoints alone."""
    files = (repository.common_dir / "info" / "exclude", repository.worktree / IGNORE_FILE)
    return b"\n".join(path.read_bytes() for path in files if path.is_file())


def _write_if_other(path: Path, content: bytes) -> None:
    # Earlier versions had a link to the user's own file here.
    if path.is_symlink() or not path.exists() or path.read_bytes() != content:
        fresh = path.with_name("exclude.new")
        fresh.write_bytes(content)
        fresh.replace(path)
