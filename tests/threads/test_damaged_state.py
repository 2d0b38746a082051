"""A daemon starts on any state directory: whatever was cut or flipped in it costs at most the
thread that it was in.
"""

from pathlib import Path

import anyio
import pytest
from trimpoint.config.sections import ThreadsSection
from trimpoint.core.model.decision import Policy
from trimpoint.journal import StateDirectory
from trimpoint.journal.errors import StateDirectoryBusy
from trimpoint.journal.storage.directory import snapshot_name
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol import commands as wire

from tests.deadlines import SCENARIO_S
from tests.threads.stage import OTHER, THREAD, begin, turn

RULES = ThreadsSection(evict_after_s=0.0, snapshot_after_records=3)


async def written(root: Path) -> dict[Path, bytes]:
    """Two threads with a snapshot each, one with a turn beyond it, and the catalogue."""
    async with ThreadRegistry.running(StateDirectory(root), Policy(), RULES) as registry:
        for thread_id in (THREAD, OTHER):
            writer = await begin(registry, thread_id)
            writer.record_facts(*turn("T1"), *turn("T2"))
            await writer.flush()
            await writer.execute(
                wire.RenameThread(command_id="c", thread_id=thread_id, name="named")
            )
            del writer
        await registry.sweep()
    async with ThreadRegistry.running(
        StateDirectory(root), Policy(), ThreadsSection(snapshot_after_records=1000)
    ) as registry:
        writer = await registry.thread(THREAD)
        writer.record_facts(*turn("T3"))
        await writer.flush()
    return all_files(root)


def all_files(root: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != "lock"
    }


async def looked_at(root: Path) -> tuple[ThreadWriter | str, ThreadWriter | str]:
    async with ThreadRegistry.running(StateDirectory(root), Policy(), RULES) as registry:
        return await _opened(registry, THREAD), await _opened(registry, OTHER)


async def _opened(registry: ThreadRegistry, thread_id: str) -> ThreadWriter | str:
    try:
        return await registry.thread(thread_id)
    except ThreadError as error:
        return type(error).__name__


def restore_files(files: dict[Path, bytes], root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file() and path not in files and path.name != "lock":
            path.unlink()
    for path, content in files.items():
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def turns(writer: ThreadWriter | str) -> list[str]:
    assert isinstance(writer, ThreadWriter)
    return [one.id for one in writer.state.turns]


@pytest.mark.parametrize("name", [snapshot_name(THREAD), "catalogue"])
@pytest.mark.parametrize("hurt", ["cut", "flipped"])
async def test_damage_to_a_derived_file_loses_nothing(tmp_path: Path, name: str, hurt: str) -> None:
    files = await written(tmp_path)
    path = tmp_path / name
    content = files[path]
    with anyio.fail_after(SCENARIO_S):
        for at in range(0, len(content), max(1, len(content) // 50)):
            restore_files(files, tmp_path)
            path.write_bytes(
                content[:at]
                if hurt == "cut"
                else content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
            )
            for writer, expected in zip(
                await looked_at(tmp_path), (["T1", "T2", "T3"], ["T1", "T2"]), strict=True
            ):
                assert turns(writer) == expected
                assert isinstance(writer, ThreadWriter)
                assert (writer.read_only, writer.state.name) == (None, "named")


@pytest.mark.parametrize("with_snapshot", [True, False])
async def test_a_cut_anywhere_in_a_journal_leaves_its_thread_a_past_and_the_other_whole(
    tmp_path: Path, with_snapshot: bool
) -> None:
    files = await written(tmp_path)
    if not with_snapshot:
        files = {
            path: content for path, content in files.items() if path.parent.name != "snapshots"
        }
    path = tmp_path / "threads" / f"{THREAD}.journal"
    content, before = files[path], list[str]()
    with anyio.fail_after(SCENARIO_S):
        for at in range(0, len(content), 17):
            restore_files(files, tmp_path)
            path.write_bytes(content[:at])
            hurt, other = await looked_at(tmp_path)
            assert turns(other) == ["T1", "T2"]
            found = [] if isinstance(hurt, str) else turns(hurt)
            assert found == ["T1", "T2", "T3"][: len(found)]
            assert len(found) >= len(before)
            before = found
            assert isinstance(hurt, str) or hurt.read_only is None


@pytest.mark.parametrize("with_snapshot", [True, False])
async def test_a_flipped_byte_anywhere_in_a_journal_is_never_believed(
    tmp_path: Path, with_snapshot: bool
) -> None:
    files = await written(tmp_path)
    if not with_snapshot:
        files = {
            path: content for path, content in files.items() if path.parent.name != "snapshots"
        }
    path = tmp_path / "threads" / f"{THREAD}.journal"
    content = files[path]
    with anyio.fail_after(SCENARIO_S):
        for at in range(0, len(content), 17):
            restore_files(files, tmp_path)
            path.write_bytes(content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1 :])
            hurt, other = await looked_at(tmp_path)
            assert turns(other) == ["T1", "T2"]
            if isinstance(hurt, str):
                assert hurt in {"JournalRefuses", "ThreadNotFound"}
            else:
                found = turns(hurt)
                assert found == ["T1", "T2", "T3"][: len(found)]
                assert hurt.state.name in {None, "named"}


async def test_a_clock_that_jumps_back_disturbs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = 2_000_000_000 * 10**9
    monkeypatch.setattr("trimpoint.threads.loaded_threads.time.time_ns", lambda: now_ns)
    store = StateDirectory(tmp_path)
    async with ThreadRegistry.running(store, Policy(), RULES) as registry:
        writer = await begin(registry)
        writer.record_facts(*turn("T1"))
        await writer.flush()
        now_ns = 1_000_000_000 * 10**9
        await writer.execute(wire.TrimContext(command_id="c", thread_id=THREAD))
        writer.record_facts(*turn("T2"))
        await writer.flush()
        before = writer.state
        assert before.trim_points[0].created_at_ms < before.turns[0].started_at_ms
        assert [one.id for one in before.active_turns] == ["T2"]
    async with ThreadRegistry.running(store, Policy(), RULES) as registry:
        assert (await registry.thread(THREAD)).state.turns == before.turns


async def test_a_second_daemon_is_refused_and_finds_the_first(tmp_path: Path) -> None:
    store = StateDirectory(tmp_path)
    assert store.holder() is None
    with store.lock():
        assert store.holder() is not None
        with pytest.raises(StateDirectoryBusy):
            StateDirectory(tmp_path).lock()
    assert store.holder() is None
