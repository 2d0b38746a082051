"""The thread that a command acts on: the newest one of this folder, a named one, or one of Codex
that is adopted.
"""

import subprocess
from pathlib import Path

import pytest
from trimpoint.cli.connection.known_threads import KnownThread, matching, place_of
from trimpoint.testkit import say

from tests.cli.stage import CliHarness

CHANGING = (["clear"], ["compact"], ["compress"], ["new"], ["revert"])


def known(
    thread_id: str, name: str | None = None, first_words: str = "", *, archived: bool = False
) -> KnownThread:
    return KnownThread(thread_id, name, first_words, "/w", "2026-01-01T00:00:00Z", archived, None)


THREADS = [
    known("01a22180-0000-7000-8000-00004c1b486d", "Parser rewrite", "Rewrite the parser."),
    known("01a22180-0000-7000-8000-00009999486e", None, "Let greet take\n a name."),
    known("01a22180-0000-7000-8000-0000aaaa0001", "parser tests", "Test it."),
    known("01a22180-0000-7000-8000-0000bbbb0002", "old greeting", "Greet.", archived=True),
]


@pytest.mark.parametrize(
    ("wanted", "ends"),
    [
        ("4c1b486d", ["4c1b486d"]),
        ("4C1B486D", ["4c1b486d"]),
        ("01a22180-0000-7000-8000-0000bbbb0002", ["bbbb0002"]),
        ("01a22180", ["4c1b486d", "9999486e", "aaaa0001", "bbbb0002"]),
        ("4c1b", ["4c1b486d"]),
        ("4C1B4", ["4c1b486d"]),
        ("4c1", []),
        ("2", []),
        ("Parser rewrite", ["4c1b486d"]),
        ("PARSER TESTS", ["aaaa0001"]),
        ("parser", ["4c1b486d", "aaaa0001"]),
        ("greet take a", ["9999486e"]),
        ("greet", ["9999486e"]),
        ("old", ["bbbb0002"]),
        ("  ", []),
        ("nothing like it", []),
    ],
)
def test_a_thread_is_meant_by_id_by_name_or_by_first_words(wanted: str, ends: list[str]) -> None:
    assert [thread.id[-8:] for thread in matching(THREADS, wanted)] == ends


def test_a_place_is_the_work_tree_or_else_the_folder(tmp_path: Path) -> None:
    tree, plain = tmp_path / "tree", tmp_path / "plain" / "inner"
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text("gitdir: elsewhere\n")
    plain.mkdir(parents=True)
    (tmp_path / "plain" / ".git").mkdir()
    (tmp_path / "link").symlink_to(tree)
    assert place_of(str(tree / "src")) == place_of(str(tmp_path / "link")) == str(tree)
    assert place_of(str(plain)) == str(plain)
    assert place_of(str(tmp_path / "gone" / "too")) == str(tmp_path / "gone" / "too")


@pytest.mark.parametrize(
    ("made", "is_work_tree"),
    [
        ({}, False),
        ({"HEAD": "ref: refs/heads/main\n"}, False),
        ({"HEAD": "nothing", "objects/x": "", "refs/x": ""}, False),
        ({"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": ""}, True),
        ({"HEAD": f"{'0a' * 20}\n", "objects/x": "", "refs/x": ""}, True),
    ],
)
@pytest.mark.processes
def test_a_place_is_a_work_tree_where_git_says_so(
    tmp_path: Path, made: dict[str, str], is_work_tree: bool
) -> None:
    inner = tmp_path / "tree" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "tree" / ".git").mkdir()
    for name, content in made.items():
        path = tmp_path / "tree" / ".git" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    asked = ["git", "rev-parse", "--git-dir"]
    assert (subprocess.run(asked, cwd=inner, capture_output=True).returncode == 0) == is_work_tree
    assert place_of(str(inner)) == str(tmp_path / "tree" if is_work_tree else inner)


def test_a_place_lies_below_the_ceiling_of_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    (tmp_path / "tree" / ".git").write_text("gitdir: elsewhere\n")
    inner = str(tmp_path / "tree" / "inner")
    assert place_of(inner) == str(tmp_path / "tree")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", f"/nowhere:{tmp_path / 'tree'}")
    assert place_of(inner) == inner


@pytest.mark.codex
async def test_a_command_never_touches_a_thread_of_another_folder_unasked(
    stage: CliHarness,
) -> None:
    other = stage.folder / "other"
    other.mkdir()
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        for words in CHANGING:
            refused = await stage.run(*words, "--json", cwd=other)
            assert (refused.code, refused.json()["error"]["reason"]) == (1, "thread_not_found"), (
                words
            )
            last = await stage.run(*words, "--last", "--json", cwd=other)
            assert (last.code, last.json()["error"]["reason"]) == (1, "thread_elsewhere"), words
            assert f"--thread {thread[-8:]}" in last.json()["error"]["hint"]
        said = await stage.run("clear", cwd=other)
        assert f"There is no thread yet in {other}." in said.err
        for words in ("--last", "--thread", f"{thread[-8:]} “prompt-1.” in {stage.worktree}"):
            assert words in said.err
        assert "prompt-1." in (await stage.run("timeline", "--last", cwd=other)).out
        assert (await stage.run("clear", "-t", thread[-8:], cwd=other)).code == 0


@pytest.mark.codex
async def test_the_last_thread_of_this_work_tree_is_taken_not_the_last_of_all(
    stage: CliHarness,
) -> None:
    other, inner = stage.folder / "other", stage.worktree / "src"
    git = stage.worktree / ".git"
    for folder in (other, inner, git / "objects", git / "refs"):
        folder.mkdir(parents=True)
    (stage.worktree / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    async with stage.daemon() as client:
        mine = await stage.thread(client)
        await stage.turn(client, mine, "prompt-mine.")
        foreign = await stage.thread(client, cwd=other)
        await stage.turn(client, foreign, "prompt-foreign.")
        for folder in (stage.worktree, inner):
            assert "prompt-mine." in (await stage.run("timeline", cwd=folder)).out
        cleared = await stage.run("clear", "--json", cwd=inner)
    assert cleared.json()["threadId"] == mine


@pytest.mark.codex
async def test_a_thread_of_codexs_own_is_adopted_when_it_is_named(stage: CliHarness) -> None:
    stage.script.then(say("answer-1."))
    done = await stage.codex("exec", "--skip-git-repo-check", "Explain the widget.")
    assert done.code == 0, done.err
    async with stage.daemon() as client:
        assert (await client.request("orchestration/snapshot"))["threads"] == []
        timeline = await stage.run("timeline", "--thread", "the WIDGET")
        assert timeline.code == 0, timeline.err
        assert "answer-1." in timeline.out
        assert "was Codex's own; trimpoint follows it from now on" in timeline.err
        [thread] = (await client.request("orchestration/snapshot"))["threads"]
        assert (thread["preview"], thread["turns"]) == ("Explain the widget.", 1)
        assert (await stage.run("clear")).code == 0


@pytest.mark.codex
async def test_the_last_thread_here_may_be_one_of_codexs_own(stage: CliHarness) -> None:
    stage.script.then(say("answer-1."))
    assert (await stage.codex("exec", "--skip-git-repo-check", "Explain the widget.")).code == 0
    async with stage.daemon():
        assert "answer-1." in (await stage.run("timeline")).out


@pytest.mark.codex
@pytest.mark.linux("looks at other processes")
async def test_a_thread_held_by_another_process_is_reported_with_the_process_and_what_to_do(
    stage: CliHarness,
) -> None:
    async with stage.daemon("other", "o.sock") as holder, stage.daemon():
        thread = await stage.thread(holder)
        await stage.turn(holder, thread, "prompt-1.")
        refused = await stage.run("timeline", "--thread", thread)
        document = (await stage.run("timeline", "--thread", thread, "--json")).json()
        [pid] = [pid for pid in stage.codex_children() if f"pid {pid}" in refused.err]
    assert (refused.code, document["error"]["reason"]) == (1, "thread_held")
    assert f"{thread[-8:]} is open in another Codex (codex app-server, pid {pid})" in refused.err
    assert "app-server daemon stop" in refused.err


@pytest.mark.codex
async def test_an_ambiguous_name_lists_its_candidates(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        threads = [await stage.thread(client) for _ in range(2)]
        for number, thread in enumerate(threads):
            await stage.turn(client, thread, f"Fix the parser, part {number}.")
        refused = await stage.run("timeline", "-t", "parser")
        one = await stage.run("timeline", "-t", "part 1")
    assert (refused.code, one.code) == (2, 0)
    assert "'parser' could be any of 2 threads." in refused.err
    for number, thread in enumerate(threads):
        assert f"  {thread[-8:]} “Fix the parser, part {number}.”, " in refused.err
