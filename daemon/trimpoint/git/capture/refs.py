"""The refs that keep checkpoints from being collected. They go only when somebody asks for it."""

import re
from collections.abc import Sequence

import msgspec

from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.capture.omissions import left_out_of
from trimpoint.git.plumbing.process import git_answer
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.shadow_repository import ShadowRepository, read_commit

PREFIX = "refs/trimpoint/checkpoints/"

_DEADLINE_S = 60.0
_FORMAT = "--format=%(refname) %(objectname) %(committerdate:unix)"


class KeptRef(msgspec.Struct, frozen=True):
    """A checkpoint that is kept. `thread` and `name` are the last parts of `ref`."""

    ref: str
    commit: str
    captured_at_s: int

    @property
    def thread(self) -> str:
        """The thread it was made for."""
        return self.ref.removeprefix(PREFIX).partition("/")[0]

    @property
    def name(self) -> str:
        """What it is called within its thread."""
        return self.ref.removeprefix(PREFIX).partition("/")[2]


def checkpoint_ref(thread: str, name: str) -> str:
    """`refs/trimpoint/checkpoints/<thread>/<name>`; anything that git takes in no name is replaced by `_`."""
    return f"{PREFIX}{thread_part(thread)}/{thread_part(name)}"


def thread_part(thread: str) -> str:
    """What a thread is called in its refs."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", thread) or "_"


async def keep(repository: Repository, ref: str, commit: str) -> None:
    """Point `ref` (made by `checkpoint_ref`) at `commit`, with no reflog. Replaces what it pointed at.

    :raises GitFailed: it cannot be written, or there is no such commit
    """
    await _users(repository, "update-ref", "--no-deref", _ours(ref), commit, doing="keep a checkpoint")


async def find(repository: Repository, name: str) -> Checkpoint | None:
    """The checkpoint that a ref or commit id names; None when there is none, or it is not one of ours.

    :raises GitFailed: git itself failed
    """
    stdin = name.encode() + b"\n"
    commit = read_commit(await _users(repository, "cat-file", "--batch", doing="read a checkpoint", stdin=stdin))
    try:
        return Checkpoint(commit.id, commit.tree, left_out_of(commit.message)) if commit else None
    except ValueError:
        return None


async def list_refs(repository: Repository, thread: str | None = None) -> list[KeptRef]:
    """All that are kept in the repository, of every work tree, or those of one thread.

    :raises GitFailed: git failed
    """
    under = checkpoint_ref(thread, "_").removesuffix("_") if thread else PREFIX
    listed = await _users(repository, "for-each-ref", _FORMAT, under, doing="list the checkpoints")
    lines = (line.split(" ") for line in listed.decode().splitlines())
    return [KeptRef(ref, commit, int(time or 0)) for ref, commit, time in lines]


async def delete_refs(repository: Repository, refs: Sequence[str]) -> None:
    """Let go of these. Git collects what they kept in its own time. One that is gone already is no error.

    :raises GitFailed: git failed; then none is deleted
    """
    stdin = "".join(f"delete {_ours(ref)}\0\0" for ref in refs).encode()
    await _users(repository, "update-ref", "--no-deref", "-z", "--stdin", doing="delete checkpoints", stdin=stdin)


async def refs_disk_bytes(repository: Repository) -> int:
    """What only checkpoints keep on disk: objects that no branch, tag or other ref of the user reaches.

    :raises GitFailed: git failed, or is older than 2.31
    """
    ours = f"--glob={PREFIX}*"
    arguments = ("rev-list", "--disk-usage", "--objects", ours, "--not", f"--exclude={PREFIX}*", "--all")
    return int((await _users(repository, *arguments, doing="measure the checkpoints")).decode().strip() or 0)


async def _users(repository: Repository, *arguments: str, doing: str, stdin: bytes = b"") -> bytes:
    return await git_answer(ShadowRepository(repository, _DEADLINE_S).users(*arguments, doing=doing, stdin=stdin))


def _ours(ref: str) -> str:
    if not ref.startswith(PREFIX):
        raise ValueError(ref)
    return ref
