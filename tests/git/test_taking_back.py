"""A thread's changes are taken back and no others, compared with a plain record of all changes."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.git.capture.capture import capture
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.compare import Side
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore
from trimpoint.git.restore.taking_back import (
    Author,
    Leg,
    PathHistory,
    TakingBack,
    commit_of,
    take_back,
)

from tests.effort import longer
from tests.git.worktrees import captured, contents, found, git, new_repository, users_side, write

_NAMES = ("a", "b", "c", "d/e", "d/f")


def side(word: str | None) -> Side | None:
    return Side(0o100644, word) if word is not None else None


class Account:
    """The history of one path, as whole lists instead of a fold. Each value is kept with the set of
    all authors since the last time that only others had changed it.
    """

    def __init__(self) -> None:
        self.log: list[tuple[str | None, Author]] = []

    def answer(self, start: str | None) -> tuple[str | None, bool]:
        """Returns the content to which the path goes back, and whether another author's work is
        lost by that.
        """
        base, values = start, [start]
        lost: set[str | None] = set()
        for value, author in self.log:
            is_clean = values[-1] == base
            touched = values[-1] in lost and not is_clean
            if is_clean and author == "others":
                base = value
            elif value != base and (author != "thread" or touched):
                lost.add(value)
            values.append(value)
        return base, values[-1] != base and values[-1] in lost


def test_found_files_are_kept_unless_forced_and_refused_where_the_thread_was_at_work() -> None:
    history = PathHistory(side("0"))
    history.becomes(side("1"), "found")
    assert (history.wanted, history.mixed) == (side("0"), "found")
    history.becomes(side("2"), "thread")
    assert history.mixed == "unknown"
    history.becomes(side("3"), "others")
    assert history.mixed == "others"
    after = PathHistory(side("0"))
    after.becomes(side("1"), "thread")
    after.becomes(side("2"), "found")
    assert after.mixed == "unknown"


@given(
    st.sampled_from([None, "0"]),
    st.lists(
        st.tuples(
            st.sampled_from([None, "0", "1", "2"]), st.sampled_from(["thread", "others", "unknown"])
        )
    ),
)
def test_a_path_goes_back_to_what_others_had_made_of_it(
    start: str | None, log: list[tuple[str | None, Author]]
) -> None:
    history, account = PathHistory(side(start)), Account()
    for value, author in log:
        history.becomes(side(value), author)
    account.log = log
    wanted, lost = account.answer(start)
    assert history.wanted == side(wanted)
    assert (history.mixed is not None) == lost


def test_words_of_others_on_top_of_the_threads_are_never_lost_in_silence() -> None:
    history = PathHistory(side("0"))
    for value, author in (("1", "thread"), ("2", "others"), ("0", "thread"), ("2", "thread")):
        history.becomes(side(value), author)  # type: ignore[arg-type]
    assert (history.wanted, history.mixed) == (side("0"), "others")
    history.becomes(side("3"), "thread")
    assert history.mixed == "others"


class Walk:
    """A thread and others who change files in turn. `legs` are the captured states, `actions` the
    changes with their authors.
    """

    def __init__(self, repository: Repository, start: str, chance: random.Random) -> None:
        self.repository = repository
        self.start = start
        self.legs: list[Leg] = []
        self.chance = chance
        self.top = repository.worktree
        self.first = contents(self.top)
        self.states: list[tuple[dict[bytes, tuple[str, bytes]], Author]] = []

    async def step(self) -> None:
        author: Author = "thread" if len(self.legs) % 2 == 0 else "others"
        for _ in range(self.chance.randrange(3)):
            self.edit()
        if author == "others":
            self.git_something()
        commit = (await capture(self.repository)).commit
        self.legs.append(Leg(commit, author))
        self.states.append((contents(self.top), author))

    def edit(self) -> None:
        path = self.top / self.chance.choice(_NAMES)
        if path.exists() and self.chance.random() < 0.4:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(str(self.chance.randrange(4)))

    def git_something(self) -> None:
        words: tuple[tuple[str, ...], ...] = self.chance.choice(
            [
                (),
                (("add", "--all"), ("commit", "--quiet", "--allow-empty", "-m", "theirs")),
                (("stash", "--quiet", "--include-untracked"),),
                (("checkout", "--quiet", "--force", "other"),),
                (("checkout", "--quiet", "--force", "main"),),
                (("reset", "--quiet", "--hard"),),
            ]
        )
        for each in words:
            git(self.top, *each, check=False)

    def expected(self) -> tuple[dict[bytes, tuple[str, bytes]], set[bytes]]:
        """Returns the files without the thread's changes, and the paths where others would lose
        work.
        """
        names = {*self.first, *(name for state, _ in self.states for name in state)}
        files: dict[bytes, tuple[str, bytes]] = {}
        lost: set[bytes] = set()
        for name in names:
            path = PathLog(
                self.first.get(name), [(state.get(name), author) for state, author in self.states]
            )
            if (content := path.without_the_thread()) is not None:
                files[name] = content
            if path.others_lose():
                lost.add(name)
        return files, lost


class PathLog(NamedTuple):
    """One path in copies of the whole worktree."""

    start: tuple[str, bytes] | None
    copies: list[tuple[tuple[str, bytes] | None, Author]]

    def without_the_thread(self) -> tuple[str, bytes] | None:
        """Returns the content without the thread's changes. Changes by others count if they were
        made to others' content.
        """
        base = before = self.start
        for after, author in self.copies:
            if after != before and author == "others" and before == base:
                base = after
            before = after
        return base

    def others_lose(self) -> bool:
        """Returns whether the path contains changes that others made to the thread's content."""
        base = before = self.start
        theirs: list[tuple[str, bytes] | None] = []
        for after, author in self.copies:
            if after == before:
                continue
            if author == "others" and before == base:
                base = after
            elif after != base and (author == "others" or before in theirs):
                theirs.append(after)
            before = after
        return before != base and before in theirs


@pytest.mark.parametrize("seed", range(4 * longer()))
async def test_only_what_the_thread_did_is_taken_back(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder = new_repository(tmp_path / "tree", {"a": "0", "d/e": "1"})
    git(folder, "branch", "--quiet", "other")
    walk = Walk(await found(folder), (await captured(folder)).commit, chance)
    for _ in range(8):
        await walk.step()
        taking = await take_back(walk.repository, walk.start, walk.legs)
        expected, lost = walk.expected()
        assert {conflict.path for conflict in taking.plan.conflicts} == lost
        for path in taking.kept:
            assert expected.get(path) == contents(folder).get(path) != walk.first.get(path)
        target = await commit_of(walk.repository, taking)
        copy, theirs = contents(folder), users_side(folder)
        await _go(walk.repository, taking.present, target)
        assert contents(folder) == expected
        await _go(walk.repository, target, taking.present)
        assert contents(folder) == copy
        assert users_side(folder).keys() == theirs.keys()


async def _go(repository: Repository, present: str, target: str) -> None:
    await restore(
        repository,
        await plan_restore(repository, present=present, last_seen=present, target=target),
    )


async def _taken_back(folder: Path, *steps: tuple[Author, Callable[[], object]]) -> TakingBack:
    repository, start = await found(folder), (await captured(folder)).commit
    legs: list[Leg] = []
    for author, step in steps:
        step()
        legs.append(Leg((await captured(folder)).commit, author))
    return await take_back(repository, start, legs)


async def test_a_folder_of_others_where_a_file_was_is_in_the_way(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    taking = await _taken_back(
        folder,
        ("thread", lambda: (folder / "a").unlink()),
        ("others", lambda: write(folder, {"a/mine": "y"})),
    )
    assert [(conflict.path, conflict.reason) for conflict in taking.plan.conflicts] == [
        (b"a/mine", "inTheWay")
    ]
    assert taking.kept == (b"a/mine",)
    forced = msgspec.structs.replace(taking, plan=taking.plan.forced())
    assert forced.plan.write == ()
    assert await commit_of(await found(folder), forced)


async def test_a_file_that_one_checkpoint_lacks_is_not_reverted(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    repository = await found(folder)
    write(folder, {"grows": "small"})
    start = (await captured(folder)).commit
    write(folder, {"grows": "g" * 100, "a": "y"})
    large = (await captured(folder, max_file_bytes=50)).commit
    taking = await take_back(repository, start, [Leg(large, "thread")])
    assert [step.path for step in taking.plan.write] == [b"a"]
    assert [each.path for each in taking.plan.left_alone] == [b"grows"]


async def test_a_state_that_is_gone_leaves_a_doubt(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    repository, start = await found(folder), (await captured(folder)).commit
    write(folder, {"a": "y"})
    end = (await captured(folder)).commit
    taking = await take_back(repository, start, [Leg("0" * 39 + "1", "thread"), Leg(end, "thread")])
    assert [(conflict.path, conflict.reason) for conflict in taking.plan.conflicts] == [
        (b"a", "unknown")
    ]
    with pytest.raises(GitFailed, match="no longer in the repository"):
        await take_back(repository, "0" * 39 + "1", [Leg(end, "thread")])


async def test_many_states_cost_two_runs_of_git(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "tree", {"a": "x"})
    repository, start = await found(folder), (await captured(folder)).commit
    legs: list[Leg] = []
    for number in range(6):
        write(folder, {"a": f"{number // 2}", os.fsdecode(b"new\nline\xff"): "x"})
        legs.append(Leg((await captured(folder)).commit, "thread"))
    taking = await take_back(repository, start, legs)
    assert {step.path for step in (*taking.plan.write, *taking.plan.remove)} == {
        b"a",
        b"new\nline\xff",
    }
    shutil.rmtree(repository.private_dir)
    assert await take_back(repository, start, legs) == taking
