"""Compares two checkpoints, and reads their files."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.permissions import Permissions
from trimpoint.git.plumbing.process import git_answer, git_output
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.plumbing.shadow_repository import ShadowRepository

Status = Literal["added", "modified", "deleted", "renamed", "typeChanged"]

_DEADLINE_S = 60.0
_DOING = "compare checkpoints"
_STATUSES: dict[bytes, Status] = {
    b"A": "added",
    b"M": "modified",
    b"D": "deleted",
    b"R": "renamed",
    b"T": "typeChanged",
}
# The user's own diff and conversion programs are not run.
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")
_FACTS = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", *_PLAIN)


class Change(msgspec.Struct, frozen=True):
    """A path that differs between two checkpoints. The numbers of lines are None for a binary file;
    `old_path` is the former path of a renamed file.
    """

    path: bytes
    status: Status
    additions: int | None = None
    deletions: int | None = None
    binary: bool = False
    old_path: bytes | None = None


class Diff(msgspec.Struct, frozen=True):
    """A unified diff as git prints it. It is cut after the requested number of bytes if
    `truncated`. Its bytes are in the encoding of the files.
    """

    text: bytes
    truncated: bool


class Side(msgspec.Struct, frozen=True):
    """A file of a checkpoint: git's mode and blob. `permissions` is None if they are unknown, and
    for a link.
    """

    mode: int
    blob: str
    permissions: int | None = None

    def is_met_by(self, found: "Side | None") -> bool:
        """Returns whether the file `found` is equal to this one; unknown permissions of this one
        are not compared.
        """
        return found is not None and self == (
            found
            if self.permissions is not None
            else msgspec.structs.replace(found, permissions=None)
        )


class State(msgspec.Struct, frozen=True):
    """The tree of a checkpoint and the permissions of its files, which are None in checkpoints of
    older versions.
    """

    tree: str
    permissions: Permissions | None = None


class Difference(msgspec.Struct, frozen=True):
    """A path whose content, type or permissions differ; a side is None if that checkpoint lacks the
    path.
    """

    path: bytes
    old: Side | None
    new: Side | None


async def changes(repository: Repository, old_commit: str, new_commit: str) -> list[Change]:
    """Returns the changes between two checkpoints, sorted by path, with renames.

    :raises GitFailed: when a checkpoint is missing, or git failed
    """
    answer = await _answer(repository, *_FACTS, "--numstat", "-M", old_commit, new_commit)
    words = iter(answer.split(b"\0"))
    found: dict[bytes, Change] = {}
    for word in words:
        if word.startswith(b":"):
            change = _change(word, words)
            found[change.path] = change
        elif word:
            path, additions, deletions = _counts(word, words)
            lines = None if additions == b"-" else (int(additions), int(deletions))
            found[path] = _counted(found[path], lines)
    return sorted(found.values(), key=lambda change: change.path)


async def diff(
    repository: Repository,
    old_commit: str,
    new_commit: str,
    *,
    paths: Sequence[bytes] = (),
    max_bytes: int = 1024 * 1024,
) -> Diff:
    """Returns the changes between two checkpoints as a unified diff with renames, restricted to
    `paths` if there are any. Binary files are named but not shown.

    :raises GitFailed: when a checkpoint is missing, or git failed
    """
    # Names in other alphabets are shown to people, so they must not be escaped.
    arguments = (
        "-c",
        "core.quotePath=false",
        "diff-tree",
        "-r",
        "-p",
        "-M",
        *_PLAIN,
        old_commit,
        new_commit,
        "--",
    )
    run = ShadowRepository(repository, _DEADLINE_S).users(
        *arguments, *paths, doing=_DOING, max_bytes=max_bytes
    )
    output = await git_output(run)
    return Diff(output.stdout, output.truncated)


async def content(repository: Repository, commit: str, path: bytes, max_bytes: int) -> Diff | None:
    """Returns the bytes of a file of a checkpoint, or None if it has no such file.

    :raises GitFailed: when the checkpoint is missing, or git failed
    """
    if leads_out(path) or b"\0" in path:
        return None
    # A path may look like an option, or like a pattern.
    words = ("--literal-pathspecs", "ls-tree", "-z", "--full-tree", "--", commit)
    listed = await _answer(repository, *words, path)
    facts, _, name = listed.removesuffix(b"\0").partition(b"\t")
    _, kind, blob = facts.decode().split(" ") if name == path else ("", "", "")
    if kind != "blob":
        return None
    run = ShadowRepository(repository, _DEADLINE_S).users(
        "cat-file", "blob", blob, doing="read a file of a checkpoint", max_bytes=max_bytes
    )
    output = await git_output(run)
    return Diff(output.stdout, output.truncated)


async def differences(repository: Repository, old: State, new: State) -> list[Difference]:
    """Returns every path that differs, with both sides. A rename is a removal and an addition.
    Submodules are left out.

    :raises GitFailed: when a checkpoint is missing, or git failed
    """
    return (await all_differences(repository, [old, new]))[0]


async def all_differences(
    repository: Repository, states: Sequence[State]
) -> list[list[Difference]]:
    """Returns for each of these states the differences to the next one, in the form of
    `differences`.

    Permissions are compared only if all states have them. This takes one run of git, and one more
    for each state with changed permissions.

    :raises GitFailed: when a checkpoint is missing or leads out of the work tree, or git failed
    """
    found = await _differing_contents(repository, [state.tree for state in states])
    if all(state.permissions is not None for state in states):
        found = [
            await _with_permissions(repository, *pair, differing)
            for pair, differing in zip(pairwise(states), found, strict=True)
        ]
    if any(leads_out(each.path) for differing in found for each in differing):
        raise GitFailed(_DOING, "a path in one of them leads out of the work tree")
    return found


def leads_out(path: bytes) -> bool:
    """Returns whether a path is none of a file of a work tree. Git makes no such paths, but a
    damaged or forged tree can have them.
    """
    return any(part in (b"", b".", b"..") or part.lower() == b".git" for part in path.split(b"/"))


async def _with_permissions(
    repository: Repository, old: State, new: State, differing: list[Difference]
) -> list[Difference]:
    before, after = old.permissions, new.permissions
    assert before is not None
    assert after is not None
    found = [
        Difference(
            each.path,
            _permitted(before, each.path, each.old),
            _permitted(after, each.path, each.new),
        )
        for each in differing
    ]
    if before == after:
        return found
    seen = {each.path for each in found}
    for path, side in await _files_of(repository, new.tree):
        was, now = _permitted(before, path, side), _permitted(after, path, side)
        if was != now and path not in seen:
            found.append(Difference(path, was, now))
    return sorted(found, key=lambda each: each.path)


async def _files_of(repository: Repository, tree: str) -> list[tuple[bytes, Side]]:
    listed = await _answer(repository, "ls-tree", "-r", "-z", "--full-tree", tree)
    lines = (line.partition(b"\t") for line in listed.split(b"\0") if line)
    words = ((path, facts.decode().split(" ")) for facts, _, path in lines)
    return [(path, Side(int(mode, 8), blob)) for path, (mode, _, blob) in words]


def _permitted(permissions: Permissions, path: bytes, side: Side | None) -> Side | None:
    return side and Side(side.mode, side.blob, permissions.of(path, side.mode))


async def _differing_contents(
    repository: Repository, trees: Sequence[str]
) -> list[list[Difference]]:
    pairs = [(old, new) for old, new in pairwise(trees) if old != new]
    stdin = "".join(f"{old} {new}\n" for old, new in pairs).encode()
    arguments = (
        "diff-tree",
        "--stdin",
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        *_PLAIN,
    )
    run = ShadowRepository(repository, _DEADLINE_S).users(*arguments, doing=_DOING, stdin=stdin)
    found = iter(_by_pair(await git_answer(run)) if pairs else [])
    return [next(found) if old != new else [] for old, new in pairwise(trees)]


def _by_pair(answer: bytes) -> list[list[Difference]]:
    """Returns the differences of each pair: the output has one line for a pair, followed by its
    differences.
    """
    found: list[list[Difference]] = []
    at = 0
    while at < len(answer):
        if answer[at : at + 1] != b":":
            found.append([])
            at = answer.index(b"\n", at) + 1
            continue
        end_of_facts = answer.index(b"\0", at)
        end_of_path = answer.index(b"\0", end_of_facts + 1)
        found[-1].append(
            _difference(answer[at:end_of_facts], answer[end_of_facts + 1 : end_of_path])
        )
        at = end_of_path + 1
    return found


async def _answer(repository: Repository, *arguments: str | bytes) -> bytes:
    return await git_answer(
        ShadowRepository(repository, _DEADLINE_S).users(*arguments, doing=_DOING)
    )


def _change(facts: bytes, words: Iterator[bytes]) -> Change:
    letter = facts.rpartition(b" ")[2][:1]
    old_path = next(words) if letter == b"R" else None
    return Change(next(words), _STATUSES[letter], old_path=old_path)


def _counts(word: bytes, words: Iterator[bytes]) -> tuple[bytes, bytes, bytes]:
    additions, deletions, path = word.split(b"\t", 2)
    if not path:
        next(words)
        path = next(words)
    return path, additions, deletions


def _counted(change: Change, lines: tuple[int, int] | None) -> Change:
    additions, deletions = lines or (None, None)
    return Change(change.path, change.status, additions, deletions, lines is None, change.old_path)


def _difference(facts: bytes, path: bytes) -> Difference:
    old_mode, new_mode, old_blob, new_blob, _ = facts.removeprefix(b":").decode().split(" ")
    return Difference(path, _side(old_mode, old_blob), _side(new_mode, new_blob))


def _side(mode: str, blob: str) -> Side | None:
    return Side(int(mode, 8), blob) if int(mode, 8) else None
