"""Random edits with a checkpoint after each, and restores of random ones: each time every byte
equals a copy made then.
"""

import os
import random
import shutil
import stat
from pathlib import Path

import pytest
from trimpoint.git.capture.refs import find
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore

from tests.effort import longer
from tests.git.worktrees import (
    captured,
    contents,
    found,
    git,
    new_repository,
    users_side,
    write,
)

_NAMES = [
    b"a",
    b"b",
    b"c.txt",
    b"d.crlf",
    b"e.id",
    b"f.enc",
    b"g.low",
    b"\xff\xfe",
    b"new\nline",
    b"*",
    b":(top)x",
    b"-n",
    b'"q"',
    b"t\tab",
    b"git~1",
]
_CONTENTS = [
    b"",
    b"x",
    b"y",
    b"one\r\ntwo\n",
    b"one\r\ntwo\r\n",
    b"a\nb\n",
    b"$Id$\n",
    b"$Id: 0123456789012345678901234567890123456789 $\n",
    b"\x00bin\r\n",
    b"\xff\xfea\x00\n\x00",
    b"LOW",
    b"low",
    b"q" * 5000,
]
_ATTRIBUTES = "* text=auto\n*.crlf text eol=crlf\n*.id ident\n*.enc working-tree-encoding=UTF-16\n*.low filter=lower\n"


@pytest.mark.parametrize("seed", range(2 * longer()))
async def test_every_state_comes_back_byte_for_byte(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder = new_repository(
        tmp_path / "tree", {"a": "x", "c.txt": "one\ntwo\n", "sub/b": "y", "e.id": "$Id$\n"}
    )
    _convert_in_git(folder, chance)
    repository = await found(folder)
    states: list[tuple[str, dict[bytes, tuple[str, bytes]]]] = []
    for _ in range(25):
        if states and chance.random() < 0.4:
            commit, expected = chance.choice(states)
            await _go_to(repository, states[-1][0], commit)
            assert contents(folder) == expected
        for _ in range(chance.randrange(4)):
            _edit(folder, chance)
        before = users_side(folder)
        checkpoint = await captured(folder)
        assert users_side(folder) == before
        assert checkpoint.left_out == ()
        states.append((checkpoint.commit, contents(folder)))


def _convert_in_git(folder: Path, chance: random.Random) -> None:
    """Sets git options under which git changes bytes."""
    git(folder, "config", "filter.lower.clean", "tr A-Z a-z")
    git(folder, "config", "filter.lower.smudge", "tr a-z A-Z")
    git(folder, "config", "core.autocrlf", chance.choice(["true", "input", "false"]))
    if chance.random() < 0.7:
        write(folder, {".gitattributes": _ATTRIBUTES})
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", "attributes")
    git(folder, "rm", "--quiet", "--cached", "-r", ".")
    git(folder, "reset", "--quiet", "--hard")


async def _go_to(repository: Repository, last_seen: str, target: str) -> None:
    present = (await captured(repository.worktree)).commit
    plan = await plan_restore(repository, present=present, last_seen=last_seen, target=target)
    assert plan.conflicts == ()
    assert plan.kept_unknown == ()
    await restore(repository, plan)
    reached, wanted = await captured(repository.worktree), await find(repository, target)
    assert wanted is not None
    assert (reached.tree, reached.permissions) == (wanted.tree, wanted.permissions)


def _edit(folder: Path, chance: random.Random) -> None:
    top = os.fsencode(folder)
    path = os.path.join(
        top, *chance.choices([b"sub", b"deep", b"a"], k=chance.randrange(3)), chance.choice(_NAMES)
    )
    match chance.randrange(6):
        case 0:
            _remove(path)
        case 1:
            _make_way(top, path)
            _remove(path)
            os.symlink(chance.choice([b"a", b"..", b"/etc", b"nowhere", b"sub"]), path)
        case 2 if os.path.isfile(path) and not os.path.islink(path):
            os.chmod(path, chance.choice([0o600, 0o640, 0o444, 0o644, 0o664, 0o755, 0o700, 0o511]))
        case 3:
            git(
                folder,
                *chance.choice(
                    [
                        ("add", "--all"),
                        ("stash", "--quiet"),
                        ("commit", "--quiet", "-am", "x"),
                        ("reset", "--quiet"),
                    ]
                ),
                check=False,
            )
        case _:
            _make_way(top, path)
            if os.path.isdir(path) or os.path.islink(path):
                _remove(path)
            with open(path, "wb") as file:
                file.write(chance.choice(_CONTENTS))


def _make_way(top: bytes, path: bytes) -> None:
    at = top
    for part in os.path.relpath(path, top).split(b"/")[:-1]:
        at = os.path.join(at, part)
        if not os.path.isdir(at) or os.path.islink(at):
            _remove(at)
            os.mkdir(at)


def _remove(path: bytes) -> None:
    if not os.path.lexists(path):
        return
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)
