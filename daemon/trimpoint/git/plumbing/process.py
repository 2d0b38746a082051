"""Runs git without disturbing the user's own git and without variables of the user's shell.

Always true: whatever a repository's files and settings say, git starts no program of theirs and
uses no network. An agent may have written them, and trimpoint runs outside of the agent's sandbox.
`tests/git/test_hostile_settings.py` has a row for each way in which git could.

Git gets no `GIT_*` variable except those set here. It runs no hook, file monitor or upkeep, takes
no optional lock and never prompts. Git and all processes that it started are killed at the deadline
or on cancellation.
"""

import contextlib
import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import anyio.abc
import msgspec

from trimpoint.git.errors import GitFailed

_STDERR_BYTES = 64 * 1024
_REAP_S = 5.0
_PRIVATE_UMASK = 0o077

_NEUTRAL = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # Paths are literal: `*` and `:(top)` are possible names of files.
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A missing object is not fetched from a "promisor": that would run the program that a remote
    # names. The first is for git 2.39.4 and newer, the second holds for every version.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    # Any folder with four plain files can look like a bare repository.
    "safe.bareRepository=explicit",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "advice.graftFileDeprecated=false",
)


class GitOutput(msgspec.Struct, frozen=True):
    """The result of a run. `truncated`: the output exceeded `max_bytes`, so git was killed."""

    status: int
    stdout: bytes
    stderr: bytes
    truncated: bool = False


class GitRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of git. `doing` completes "git could not" in an error. `variables` and `settings`
    (`name=value`) are added to those that every run has.

    With `may_fail`, a failure does not raise; the caller must check the status. With `is_private`,
    only this user can read the files that git makes.
    """

    git: Path
    arguments: Sequence[str | bytes]
    doing: str
    cwd: Path
    variables: Mapping[str, str] = {}
    settings: Sequence[str] = ()
    stdin: bytes = b""
    deadline_s: float = 60.0
    max_bytes: int | None = None
    may_fail: bool = False
    is_private: bool = False


async def run_git(run: GitRun) -> GitOutput:
    """Runs git and returns its output, whatever the exit status.

    :raises GitFailed: when git could not be started, or exceeded its deadline
    """
    try:
        with anyio.fail_after(run.deadline_s):
            return await _run(run)
    except TimeoutError:
        raise GitFailed(run.doing, f"it took longer than {run.deadline_s:g} seconds") from None
    except OSError as error:
        raise GitFailed(run.doing, f"it cannot be run ({error.strerror})") from error


async def git_output(run: GitRun) -> GitOutput:
    """Runs git and returns its output.

    :raises GitFailed: when git failed and the run has not `may_fail`
    """
    output = await run_git(run)
    if output.status != 0 and not (output.truncated or run.may_fail):
        raise git_failure(run.doing, output.stderr)
    return output


async def git_answer(run: GitRun) -> bytes:
    """Runs git and returns its stdout.

    :raises GitFailed: when git failed and the run has not `may_fail`
    """
    return (await git_output(run)).stdout


async def gather(runs: Sequence[GitRun]) -> list[GitOutput]:
    """Runs several git processes at once and returns their outputs. The first failure is raised
    after all have ended.

    :raises GitFailed: when one failed
    """
    done: dict[int, GitOutput | GitFailed] = {}

    async def keep(position: int, run: GitRun) -> None:
        try:
            done[position] = await git_output(run)
        except GitFailed as failure:
            done[position] = failure

    async with anyio.create_task_group() as tasks:
        for position, run in enumerate(runs):
            tasks.start_soon(keep, position, run)
    return [_or_raised(done[position]) for position in range(len(runs))]


def git_failure(doing: str, stderr: bytes) -> GitFailed:
    """Returns git's error message as an error."""
    text = stderr.decode(errors="replace")
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return GitFailed(doing, "the disk is full", "Free disk space.")
    if re.search(r"\.lock': File exists", text):
        return GitFailed(
            doing, "another git process holds a lock", "Try again when that process is done."
        )
    lines = text.splitlines() or ["it did not say why"]
    messages = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    return GitFailed(doing, messages[0].removeprefix("fatal: ").removeprefix("error: ").rstrip("."))


def git_command(run: GitRun) -> list[str | bytes]:
    """Returns the command line of a run, with the settings of every run and its own."""
    settings = [word for setting in (*_SETTINGS, *run.settings) for word in ("-c", setting)]
    return [str(run.git), "--no-pager", *settings, *run.arguments]


def git_environment(variables: Mapping[str, str], inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of a run: `inherited` without `GIT_*` variables, and with those that
    every run has and `variables`.
    """
    kept = {name: value for name, value in inherited.items() if not name.startswith("GIT_")}
    return kept | _NEUTRAL | dict(variables)


def _or_raised(outcome: GitOutput | GitFailed) -> GitOutput:
    if isinstance(outcome, GitFailed):
        raise outcome
    return outcome


async def _run(run: GitRun) -> GitOutput:
    environment = git_environment(run.variables, os.environ)
    process = await anyio.open_process(
        git_command(run),
        cwd=run.cwd,
        env=environment,
        start_new_session=True,
        umask=_PRIVATE_UMASK if run.is_private else -1,
    )
    try:
        return await _communicate(process, run)
    finally:
        await _end(process)


async def _communicate(process: anyio.abc.Process, run: GitRun) -> GitOutput:
    assert process.stdout is not None
    assert process.stderr is not None
    stderr = bytearray()
    stdout, truncated = b"", False
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_feed, process, run.stdin)
        tasks.start_soon(_keep_reading, process.stderr, stderr)
        stdout, truncated = await _read(process.stdout, run.max_bytes)
        if truncated:
            _kill_group(process)
    return GitOutput(await process.wait(), stdout, bytes(stderr), truncated)


async def _feed(process: anyio.abc.Process, data: bytes) -> None:
    assert process.stdin is not None
    # Older versions of anyio raise asyncio's own `ConnectionError`.
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        if data:
            await process.stdin.send(data)
    await process.stdin.aclose()


async def _keep_reading(stream: anyio.abc.ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        if len(into) < _STDERR_BYTES:
            into += chunk


async def _read(stream: anyio.abc.ByteReceiveStream, max_bytes: int | None) -> tuple[bytes, bool]:
    data = bytearray()
    async for chunk in stream:
        data += chunk
        if max_bytes is not None and len(data) > max_bytes:
            return bytes(data[:max_bytes]), True
    return bytes(data), False


async def _end(process: anyio.abc.Process) -> None:
    """Kills the remaining processes of git's process group and closes the pipes."""
    _kill_group(process)
    with anyio.move_on_after(_REAP_S, shield=True):
        await process.aclose()


def _kill_group(process: anyio.abc.Process) -> None:
    # The process leads a session of its own, so its pid names the group.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
