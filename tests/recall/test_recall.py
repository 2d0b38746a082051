"""The index is as the journals are, whatever happens to it."""

import os
import sqlite3
from pathlib import Path
from stat import S_IMODE

import anyio
import pytest
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.recall import reading
from trimpoint.recall import recall as recall_module
from trimpoint.recall.index import FILE_NAME, FORMAT, RecallIndex, Where
from trimpoint.recall.reading import index_piece
from trimpoint.recall.recall import RecallUnavailable
from trimpoint.recall.words import terms_in
from trimpoint_protocol.commands import TrimContext

from tests.deadlines import STEP_S
from tests.recall.stage import OTHER, THREAD, record, said, stage


def files_of_index(folder: Path) -> list[Path]:
    return list(folder.glob("recall*"))


def size_of_log(folder: Path) -> int:
    return (folder / f"{FILE_NAME}-wal").stat().st_size


def command_entry(turn_id: str, command: str, output: str) -> ev.EntryRecorded:
    detail = b'{"type":"commandExecution","command":"%b","aggregatedOutput":"%b"}' % (
        command.encode(),
        output.encode(),
    )
    return ev.EntryRecorded(turn_id, "c", "activity", "commandExecution", command, detail)


async def test_a_search_finds_messages_and_output_with_their_place(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        await record(writer, *said("t1", "the quick fox"))
        entry = command_entry("t2", "make test", "Traceback: KeyError zebra")
        await record(writer, ev.TurnStarted("t2", 1), entry, ev.TurnCompleted("t2", "completed"))
        page = await now.history.search("keyerror zebra", Where(), pruned_only=False, limit=5)
    [hit] = page.hits
    assert (hit.thread_id, hit.placed.turn, hit.placed.short_id) == (THREAD, 2, "h2.1")
    assert hit.placed.entry.id == "c"
    assert [hit.snippet.text[start:end] for start, end in hit.snippet.marks] == [
        "KeyError",
        "zebra",
    ]
    assert hit.in_context


async def test_an_entry_is_found_as_soon_as_it_is_durable(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        for number in range(5):
            await record(writer, *said(f"t{number}", f"word{number} common"))
            assert await now.found(f"word{number}") == [f"word{number} common"]


async def test_a_turn_whose_entries_come_one_by_one_is_found_at_its_places(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        await record(writer, ev.TurnStarted("t", 1))
        for number in range(4):
            await record(
                writer, ev.EntryRecorded("t", f"e{number}", "message", "user", f"w{number}")
            )
            await now.found("w0")
        assert await now.found("w3") == ["w3"]
        assert await now.found("w1") == ["w1"]


async def test_a_search_in_one_thread_finds_nothing_of_another(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        await record(await now.begin(THREAD), *said("a", "secret of one"))
        await record(await now.begin(OTHER, "/else"), *said("b", "secret of two"))
        assert await now.found("secret", Where(thread_id=THREAD)) == ["secret of one"]
        assert await now.found("secret", Where(folder="/else")) == ["secret of two"]
        assert sorted(await now.found("secret")) == ["secret of one", "secret of two"]
        assert await now.found("secret", Where(thread_id="unknown")) == []
        assert await now.found("secret", Where(kinds=("assistant",))) == []
        assert len(await now.found("secret", Where(kinds=("assistant", "user")))) == 2


async def test_a_search_distinguishes_pruned_entries(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        await record(writer, *said("t1", "apple one"))
        await record(writer, *said("t2", "apple two"))
        trim = TrimContext(command_id="c", thread_id=THREAD, keep_last_n_turns=1)
        await writer.execute(trim)
        assert sorted(await now.found("apple")) == ["apple one", "apple two"]
        assert await now.found("apple", pruned=True) == ["apple one"]


async def test_entries_that_a_revert_took_back_are_not_found(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        await record(writer, *said("t1", "pear one"))
        await record(writer, *said("t2", "pear two"))
        assert len(await now.found("pear")) == 2
        await writer.execute(internal.RollBackTurns("t2", provider_did=True))
        assert await now.found("pear") == ["pear one"]
        await record(writer, *said("t2", "plum instead"))
        assert await now.found("pear") == ["pear one"]
        assert await now.found("plum") == ["plum instead"]


async def test_an_index_continues_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as now:
        await record(await now.begin(), *said("t1", "first life"))
        assert await now.found("life") == ["first life"]
    read: list[int] = []
    original = reading.read_piece

    def counting(path: Path, after: object, *rest: object) -> object:
        piece = original(path, after, *rest)  # type: ignore[arg-type]
        read.append(piece.start.records if piece is not None else -1)
        return piece

    monkeypatch.setattr(reading, "read_piece", counting)
    async with stage(tmp_path) as now:
        await record(await now.registry.thread(THREAD), *said("t2", "second life"))
        assert sorted(await now.found("life")) == ["first life", "second life"]
    assert 0 not in read


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def of_another_kind(path: Path) -> None:
    path.write_bytes(b"no database at all, but a long text " * 200)


def holed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)


def of_another_format(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {FORMAT + 1}")
    database.execute("DROP TABLE entries")
    database.commit()
    database.close()


def of_another_program(path: Path) -> None:
    path.unlink()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE threads (something)")
    database.commit()
    database.close()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def lost(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    "harm",
    [truncated, of_another_kind, holed, of_another_format, of_another_program, emptied, lost],
)
async def test_a_damaged_index_is_made_again(tmp_path: Path, harm: object) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        for number in range(50):
            await record(writer, *said(f"t{number}", f"tree{number} " + "word " * 100))
        assert len(await now.found("tree7")) == 1
    assert callable(harm)
    harm(tmp_path / FILE_NAME)
    async with stage(tmp_path) as now:
        for number in (0, 7, 49):
            assert len(await now.found(f"tree{number}")) == 1


async def test_an_index_that_is_damaged_while_it_is_used_is_made_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        for number in range(50):
            await record(writer, *said(f"t{number}", f"tree{number} " + "word " * 100))
        await now.found("tree1")
        await now.recall.use(lambda index: index.tidy())
        holed(tmp_path / FILE_NAME)
        assert len(await now.found("tree7")) == 1


async def test_a_journal_that_was_put_back_is_indexed_anew(tmp_path: Path) -> None:
    journal = tmp_path / "threads" / f"{THREAD}.journal"
    async with stage(tmp_path) as now:
        await record(await now.begin(), *said("t1", "kept berry"))
    backup = journal.read_bytes()
    async with stage(tmp_path) as now:
        await record(await now.registry.thread(THREAD), *said("t2", "lost berry"))
        assert len(await now.found("berry")) == 2
    journal.write_bytes(backup)
    async with stage(tmp_path) as now:
        await record(
            await now.registry.thread(THREAD), *said("t3", "other berry, longer than before")
        )
        assert sorted(await now.found("berry")) == [
            "kept berry", "other berry, longer than before"
        ]  # fmt: skip


async def test_a_thread_that_was_deleted_is_found_no_more(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        await record(await now.begin(), *said("t1", "gone cherry"))
        await record(await now.begin(OTHER), *said("t1", "kept cherry"))
        assert len(await now.found("cherry")) == 2
    (tmp_path / "threads" / f"{THREAD}.journal").unlink()
    (tmp_path / "catalogue").unlink()
    async with stage(tmp_path) as now:
        assert await now.found("cherry") == ["kept cherry"]


async def test_a_long_journal_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PIECE_BYTES", 700)
    async with stage(tmp_path) as now:
        writer = await now.begin()
        await record(writer, ev.TurnStarted("t", 1))
        for number in range(40):
            text = f"leaf{number} " + "x" * (3_000 if number == 20 else 10)
            entry = ev.EntryRecorded("t", f"e{number}", "message", "user", text)
            await record(writer, entry)
        for number in (0, 19, 20, 21, 39):
            [text] = await now.found(f"leaf{number}")
            assert text.startswith(f"leaf{number} ")


async def test_the_beginning_and_the_end_of_a_huge_entry_are_found(tmp_path: Path) -> None:
    middle = "middleword " + "filler " * 40_000
    async with stage(tmp_path) as now:
        writer = await now.begin()
        await record(writer, *said("t", f"startword {middle} endword"))
        assert len(await now.found("startword")) == 1
        assert len(await now.found("endword")) == 1


async def test_the_calls_of_our_own_tools_are_not_found(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        detail = b'{"tool":"get_messages","contentItems":[{"text":"echoed grape"}]}'
        own = ev.EntryRecorded("t", "o", "activity", "dynamicToolCall", "get_messages", detail)
        other = ev.EntryRecorded("t", "p", "message", "user", "said grape")
        await record(writer, ev.TurnStarted("t", 1), own, other)
        assert await now.found("grape") == ["said grape"]


async def test_the_index_is_for_its_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with stage(tmp_path) as now:
            await record(await now.begin(), *said("t1", "private"))
            await now.found("private")
            modes = {path.name: S_IMODE(path.stat().st_mode) for path in files_of_index(tmp_path)}
    finally:
        os.umask(before)
    assert FILE_NAME in modes
    assert set(modes.values()) == {0o600}


async def test_a_search_without_an_index_raises_recall_unavailable(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    async with stage(tmp_path) as now:
        await record(await now.begin(), *said("t1", "anything"))
        with pytest.raises(RecallUnavailable):
            await now.recall.search(terms_in("anything"), Where())


async def test_a_fault_of_indexing_ends_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = True

    def failing(*arguments: object) -> object:
        if broken:
            raise ValueError("a fault")
        return index_piece(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(recall_module, "index_piece", failing)
    monkeypatch.setattr(recall_module, "RETRY_S", 0.01)
    async with stage(tmp_path) as now:
        await record(await now.begin(), *said("t1", "late olive"))
        await now.found("olive")
        broken = False
        with anyio.fail_after(STEP_S):
            while now.recall.waiting:
                await anyio.lowlevel.checkpoint()
        assert await now.found("olive") == ["late olive"]


@pytest.mark.parametrize("fault", [sqlite3.OperationalError("disk full"), ValueError("a fault")])
async def test_records_not_committed_before_a_fault_are_indexed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    faults = [fault]
    original = RecallIndex.add

    def failing(index: RecallIndex, thread_id: str, *rest: object) -> None:
        original(index, thread_id, *rest)  # type: ignore[arg-type]
        if thread_id == OTHER and faults:
            index.undo()
            raise faults.pop()

    async with stage(tmp_path) as now:
        await record(await now.begin(THREAD), *said("t1", "early olive"))
        await record(await now.begin(OTHER), *said("t2", "late olive"))
    for file in files_of_index(tmp_path):
        file.unlink()
    monkeypatch.setattr(RecallIndex, "add", failing)
    monkeypatch.setattr(recall_module, "RETRY_S", 0.01)
    async with stage(tmp_path) as now:
        with anyio.fail_after(STEP_S):
            while now.recall.waiting:
                await anyio.lowlevel.checkpoint()
        assert sorted(await now.found("olive")) == ["early olive", "late olive"]
        assert not faults


async def test_an_index_of_mostly_forgotten_threads_is_made_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as now:
        writer = await now.begin()
        await record(writer, *said("t1", *(f"old{number}" for number in range(30))))
        await record(await now.begin(OTHER), *said("t1", "new"))
        await now.found("new")
        await now.recall.use(lambda index: index.forget(THREAD))
        await now.recall.use(lambda index: None)
        assert await now.recall.use(lambda index: index.forgotten_share()) > 0.9
    async with stage(tmp_path) as now:
        assert await now.found("new") == ["new"]
        assert len(await now.found("old3")) == 1
        assert await now.recall.use(lambda index: index.forgotten_share()) == 0.0


async def test_the_index_is_tidied_when_much_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_module, "TIDY_AFTER", 1)
    monkeypatch.setattr(recall_module, "TIDY_SHARE", 0)
    async with stage(tmp_path) as now:
        writer = await now.begin()
        for number in range(20):
            await record(writer, *said(f"t{number}", f"bush{number} " * 50))
            await now.found(f"bush{number}")
        with anyio.fail_after(STEP_S):
            while size_of_log(tmp_path):
                await anyio.lowlevel.checkpoint()
        assert len(await now.found("bush3")) == 1
