"""The end of a run of git, and the message about it for a person."""

from pathlib import Path

import pytest
from trimpoint.git.errors import GitFailed
from trimpoint.git.plumbing.process import (
    GitRun,
    gather,
    git_answer,
    git_environment,
    git_failure,
    run_git,
)


def _script(folder: Path, text: str) -> GitRun:
    path = folder / "git"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return GitRun(git=path, arguments=(), doing="do it", cwd=folder)


@pytest.mark.parametrize(
    ("stderr", "said", "hint"),
    [
        (
            b"error: unable to write file: No space left on device\nfatal: x",
            "git could not do it: the disk is full.",
            "Free disk space.",
        ),
        (
            b"fatal: Unable to create '/r/.git/x.lock': File exists.\n",
            "git could not do it: another git process holds a lock.",
            "Try again when that process is done.",
        ),
        (b"warning: odd\nfatal: bad object HEAD.\n", "git could not do it: bad object HEAD.", ""),
        (b"odd\n", "git could not do it: odd.", ""),
        (b"", "git could not do it: it did not say why.", ""),
    ],
)
def test_messages_of_git_become_sentences_with_hints(stderr: bytes, said: str, hint: str) -> None:
    failure = git_failure("do it", stderr)
    assert (str(failure), failure.hint) == (said, hint)


def test_leaked_variables_go_and_ours_come() -> None:
    environment = git_environment(
        {"GIT_DIR": "/ours"},
        {"GIT_DIR": "/theirs", "GIT_TRACE": "1", "HOME": "/home", "LC_ALL": "de"},
    )
    assert (
        environment.items()
        >= {"GIT_DIR": "/ours", "HOME": "/home", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}.items()
    )
    assert "GIT_TRACE" not in environment


async def test_a_git_that_cannot_be_run_is_reported(tmp_path: Path) -> None:
    run = GitRun(git=tmp_path / "none", arguments=(), doing="do it", cwd=tmp_path)
    with pytest.raises(GitFailed, match=r"it cannot be run \(No such file or directory\)"):
        await run_git(run)


async def test_large_input_and_output_pass_at_once(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20_000
    run = _script(tmp_path, "exec cat")
    assert (
        await git_answer(GitRun(git=run.git, arguments=(), doing="do it", cwd=tmp_path, stdin=data))
        == data
    )


async def test_input_that_is_not_read_is_no_failure(tmp_path: Path) -> None:
    run = _script(tmp_path, "exec echo done")
    assert (
        await git_answer(
            GitRun(git=run.git, arguments=(), doing="do it", cwd=tmp_path, stdin=b"x" * 10**6)
        )
        == b"done\n"
    )


async def test_output_is_cut_where_it_was_bounded(tmp_path: Path) -> None:
    run = _script(tmp_path, "yes")
    output = await run_git(
        GitRun(git=run.git, arguments=(), doing="do it", cwd=tmp_path, max_bytes=1000)
    )
    assert (len(output.stdout), output.truncated) == (1000, True)


async def test_much_complaining_does_not_block(tmp_path: Path) -> None:
    output = await run_git(_script(tmp_path, "head -c 1000000 /dev/zero >&2; exit 3"))
    assert output.status == 3
    assert 0 < len(output.stderr) < 1_000_000


async def test_of_several_runs_the_first_failure_is_raised_by_itself(tmp_path: Path) -> None:
    bad = _script(tmp_path, "echo fatal: no >&2; exit 1")
    good = GitRun(git=Path("/bin/echo"), arguments=("yes",), doing="do it", cwd=tmp_path)
    assert [output.status for output in await gather([good, good])] == [0, 0]
    with pytest.raises(GitFailed, match="git could not do it: no"):
        await gather([good, bad])
