"""Listing, comparing and pruning checkpoints, with real repositories and threads whose turns the
test records.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from trimpoint.config.sections import CheckpointsSection
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.extension.checkpoint_methods import CheckpointMethods
from trimpoint.gateway.methods.extension.checkpoint_storage import CheckpointStorage
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.requests.dispatch import Call
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.git.capture.capture import capture
from trimpoint.git.capture.refs import checkpoint_ref, keep, list_refs
from trimpoint.git.capture.upkeep import remove_all
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.shapes import checkpoints as cp

from tests.gateway.stage import FakeClient
from tests.git.worktrees import found, new_repository, write
from tests.threads.stage import Disk, Store

pytestmark = pytest.mark.processes

LIMITS = CheckpointsSection(max_file_bytes=1000)


class Setup:
    """A repository, and threads that work in it."""

    def __init__(self, registry: ThreadRegistry, folder: Path) -> None:
        self.registry = registry
        self.folder = folder
        clients = Clients()
        self._call = Call(FakeClient(clients).client)
        self._tables = (
            CheckpointMethods(registry, Identity(registry), LIMITS).table
            | CheckpointStorage(registry).table
        )

    async def ask(self, method: str, params: Any) -> Any:
        return await self._tables[method](self._call, params)

    async def list(self, thread_id: str = "one", **params: Any) -> cp.CheckpointList:
        result = await self.ask(
            "checkpoint/list", cp.CheckpointListParams(thread_id=thread_id, **params)
        )
        assert isinstance(result, cp.CheckpointList)
        return result

    async def diff(self, thread_id: str = "one", **params: Any) -> cp.CheckpointDiff:
        result = await self.ask(
            "checkpoint/diff", cp.CheckpointDiffParams(thread_id=thread_id, **params)
        )
        assert isinstance(result, cp.CheckpointDiff)
        return result

    async def file(self, moment: str, path: str) -> cp.FileContent:
        params = cp.CheckpointFileParams(thread_id="one", moment=moment, path=path)
        result = await self.ask("checkpoint/file", params)
        assert isinstance(result, cp.FileContent)
        return result

    async def refused(self, thread_id: str = "one", **params: Any) -> Refusal:
        with pytest.raises(Refusal) as caught:
            await self.diff(thread_id, **params)
        return caught.value

    async def prune(self, **params: Any) -> cp.PruneResult:
        result = await self.ask("checkpoint/prune", cp.PruneParams(**params))
        assert isinstance(result, cp.PruneResult)
        return result

    async def thread(self, thread_id: str = "one") -> ThreadWriter:
        return await self.registry.create(
            internal.CreateThread(
                thread_id, str(self.folder), "started", b"{}", f"{thread_id}-codex"
            )
        )

    async def turn(self, writer: ThreadWriter, files: dict[str, str | bytes]) -> str:
        """Records a turn that writes these files, and returns the commit of its checkpoint."""
        turn_id = f"turn-{len(writer.state.turns) + 1}"
        prompt = ev.EntryRecorded(turn_id, "prompt", "message", "user", f"prompt of {turn_id}")
        await self._do(writer, ev.TurnStarted(turn_id, 1), prompt)
        await self.captured(writer, turn_id, "before")
        write(self.folder, files)
        await self._do(writer, ev.TurnCompleted(turn_id, "completed"))
        return await self.captured(writer, turn_id, "after")

    async def captured(self, writer: ThreadWriter, turn_id: str | None, moment: str) -> str:
        repository = await found(self.folder)
        checkpoint = await capture(repository, LIMITS)
        ref = checkpoint_ref(writer.thread_id, f"{turn_id}-{moment}")
        await keep(repository, ref, checkpoint.commit)
        notes = tuple(str(left_out) for left_out in checkpoint.left_out)
        await self._do(
            writer,
            ev.CheckpointCaptured(turn_id, moment, str(self.folder), ref, checkpoint.commit, notes),
        )
        return checkpoint.commit

    async def _do(self, writer: ThreadWriter, *facts: ev.AnyEvent) -> None:
        writer.record_facts(*facts)
        await writer.flush()


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Setup]:
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        yield Setup(registry, new_repository(folder, {"a": "1\n", "b": "1\n"}))


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    async with opened(tmp_path / "tree") as setup:
        yield setup


async def test_the_list_has_the_time_before_the_first_turn_and_every_turn_with_what_it_changed(
    setup: Setup,
) -> None:
    thread = await setup.thread()
    commits = [
        await setup.turn(thread, {"a": "2\n", "new": "1\n2\n"}),
        await setup.turn(thread, {}),
    ]
    await setup.turn(thread, {"big": "b" * 2000, "bin": b"\0"})
    listed = await setup.list()
    assert (listed.repository, listed.older, listed.safety) == (str(setup.folder), 0, None)
    assert [(row.number, row.turn_id, row.prompt) for row in listed.turns] == [
        (0, None, ""),
        *((number, f"turn-{number}", f"prompt of turn-{number}") for number in (1, 2, 3)),
    ]
    assert [row.commit for row in listed.turns[1:3]] == commits
    changed = [row.changed for row in listed.turns]
    assert changed == [
        None,
        cp.FilesChanged(files=2, additions=3, deletions=1),
        cp.FilesChanged(files=0, additions=0, deletions=0),
        cp.FilesChanged(files=1, additions=0, deletions=0),
    ]
    assert listed.turns[3].notes == ["big is too large (2,000 bytes)"]
    assert await setup.list() == listed


async def test_the_list_can_be_short_and_without_figures(setup: Setup) -> None:
    thread = await setup.thread()
    for number in range(4):
        await setup.turn(thread, {"a": f"{number}"})
    listed = await setup.list(limit=2, changes=False)
    assert ([row.number for row in listed.turns], listed.older) == ([3, 4], 3)
    assert [row.changed for row in listed.turns] == [None, None]


async def test_the_list_of_a_thread_without_checkpoints_says_why(setup: Setup) -> None:
    thread = await setup.thread()
    thread.record_facts(
        ev.TurnStarted("turn-1", 1),
        ev.CheckpointFailed("turn-1", "after", "It lies in no repository."),
    )
    listed = await setup.list()
    assert listed.repository is None
    assert [(row.commit, row.problem) for row in listed.turns] == [
        (None, None),
        (None, "It lies in no repository."),
    ]


async def test_a_list_survives_checkpoints_and_repositories_that_are_gone(
    setup: Setup, tmp_path: Path
) -> None:
    thread = await setup.thread()
    await setup.turn(thread, {"a": "2\n"})
    repository = await found(setup.folder)
    await remove_all(repository)
    assert [row.changed for row in (await setup.list()).turns] == [None, None]
    refusal = await setup.refused()
    assert (refusal.reason, "no longer in the repository" in refusal.message) == (
        Reason.CHECKPOINT_NOT_FOUND,
        True,
    )
    setup.folder.rename(tmp_path / "elsewhere")
    assert len((await setup.list()).turns) == 2
    refusal = await setup.refused()
    assert (refusal.reason, "does not exist any more" in refusal.message) == (
        Reason.WORKTREE_FAILED,
        True,
    )


async def test_a_diff_tells_each_file_and_the_text(setup: Setup) -> None:
    thread = await setup.thread()
    commit = await setup.turn(thread, {"a": "2\n", "bin": b"\0", "näme": "x\n"})
    (setup.folder / "b").unlink()
    found_ = await setup.diff()
    assert (found_.repository, found_.newer.commit, found_.newer.label) == (
        str(setup.folder),
        commit,
        "after turn 1",
    )
    assert [
        (file.path, file.status, file.additions, file.deletions, file.binary)
        for file in found_.files
    ] == [
        ("a", "modified", 1, 1, False),
        ("bin", "added", None, None, True),
        ("näme", "added", 1, 0, False),
    ]
    assert found_.changed == cp.FilesChanged(files=3, additions=2, deletions=1)
    assert found_.diff is not None
    assert "-1\n+2\n" in found_.diff
    assert "+++ b/näme" in found_.diff
    assert not found_.truncated


async def test_a_diff_to_now_captures_the_files_without_keeping_them(setup: Setup) -> None:
    thread = await setup.thread()
    await setup.turn(thread, {"a": "2\n"})
    write(setup.folder, {"mine": "x\n", "big": "b" * 2000})
    refs = await list_refs(await found(setup.folder))
    now = await setup.diff(newer="now")
    assert [(file.path, file.status) for file in now.files] == [("mine", "added")]
    assert (now.newer.commit, now.newer.notes) == (None, ["big is too large (2,000 bytes)"])
    back = await setup.diff(older="now", newer="0")
    assert [(file.path, file.status) for file in back.files] == [
        ("a", "modified"),
        ("mine", "deleted"),
    ]
    assert await list_refs(await found(setup.folder)) == refs


async def test_a_diff_is_bounded_and_can_be_limited_to_paths(setup: Setup) -> None:
    thread = await setup.thread()
    await setup.turn(thread, {"a": "line\n" * 150, "sub/c": "1\n", "subtle": "1\n"})
    cut = await setup.diff(max_bytes=100)
    assert (len(cut.diff or ""), cut.truncated, cut.changed.files) == (100, True, 3)
    without = await setup.diff(max_bytes=0)
    assert (without.diff, without.truncated, without.changed.files) == (None, False, 3)
    below = await setup.diff(paths=["sub"])
    assert [file.path for file in below.files] == ["sub/c"]
    assert "subtle" not in (below.diff or "")
    assert (await setup.diff(older="1", newer="1")).diff == ""


async def test_states_of_different_repositories_are_not_compared(setup: Setup) -> None:
    thread = await setup.thread()
    await setup.turn(thread, {"a": "2\n"})
    thread.record_facts(ev.TurnStarted("turn-2", 1), ev.TurnCompleted("turn-2", "completed"))
    thread.record_facts(ev.CheckpointCaptured("turn-2", "after", "/other", "refs/x", "f" * 40))
    assert "not two states of one worktree" in (await setup.refused(older="1", newer="2")).message
    assert "names no turn" in (await setup.refused(newer="17")).message


async def test_a_thread_is_found_by_any_of_its_ids(setup: Setup) -> None:
    await setup.turn(await setup.thread(), {"a": "2\n"})
    assert await setup.list("one-codex") == await setup.list("one")


async def test_a_file_is_reported_as_it_was_at_a_moment(setup: Setup) -> None:
    thread = await setup.thread()
    commit = await setup.turn(thread, {"a": "2\n", "bin": b"\0"})
    write(setup.folder, {"a": "now\n"})
    texts = {
        moment: (await setup.file(moment, "a")).text for moment in ("0", "1", "turn-1", commit)
    }
    assert texts == {"0": "1\n", "1": "2\n", "turn-1": "2\n", commit: "2\n"}
    binary = await setup.file("1", "bin")
    assert (binary.text, binary.binary, binary.truncated) == (None, True, False)
    with pytest.raises(Refusal, match="no file 'bin'"):
        await setup.file("0", "bin")
    with pytest.raises(Refusal, match="names no turn"):
        await setup.file("7", "a")


async def test_storage_tells_whose_checkpoints_there_are_and_their_size(setup: Setup) -> None:
    for name in ("one", "two"):
        await setup.turn(await setup.thread(name), {"a": f"{name}\n"})
    await _keep_for_stranger(setup)
    result = await setup.ask("checkpoint/storage", cp.StorageParams())
    (repository,) = result.repositories
    assert [(thread.thread_id, thread.known, thread.refs) for thread in repository.threads] == [
        ("gone", False, 1),
        ("one", True, 2),
        ("two", True, 2),
    ]
    assert repository.disk_bytes > 0
    assert (
        await setup.ask("checkpoint/storage", cp.StorageParams(folder=str(setup.folder))) == result
    )


async def test_pruning_shows_first_and_then_lets_go_of_unknown_threads_only(setup: Setup) -> None:
    await setup.turn(await setup.thread(), {"a": "2\n"})
    await _keep_for_stranger(setup)
    shown = await setup.prune()
    assert (shown.refs, shown.deleted) == (1, False)
    assert [thread.thread_id for thread in shown.repositories[0].threads] == ["gone"]
    assert len(await list_refs(await found(setup.folder))) == 3
    done = await setup.prune(dry_run=False)
    assert (done.refs, done.deleted) == (1, True)
    assert {ref.thread for ref in await list_refs(await found(setup.folder))} == {"one"}
    assert (await setup.prune()).repositories == []


async def test_pruning_by_name_refuses_threads_that_are_there(setup: Setup) -> None:
    await setup.turn(await setup.thread(), {"a": "2\n"})
    await _keep_for_stranger(setup)
    with pytest.raises(Refusal, match="has not been deleted"):
        await setup.prune(thread_ids=["one"], dry_run=False)
    assert (await setup.prune(thread_ids=["other"], dry_run=False)).refs == 0
    assert (
        await setup.prune(thread_ids=["gone"], dry_run=False, folder=str(setup.folder))
    ).refs == 1


async def test_a_folder_outside_of_any_repository_is_refused_by_name_and_passed_over_otherwise(
    setup: Setup, tmp_path: Path
) -> None:
    await setup.registry.create(
        internal.CreateThread("elsewhere", str(tmp_path), "started", b"{}", "codex")
    )
    assert (await setup.prune()).repositories == []
    with pytest.raises(Refusal, match="is not in a git repository"):
        await setup.prune(folder=str(tmp_path))


async def _keep_for_stranger(setup: Setup) -> None:
    repository = await found(setup.folder)
    await keep(
        repository, checkpoint_ref("gone", "turn"), (await capture(repository, LIMITS)).commit
    )
