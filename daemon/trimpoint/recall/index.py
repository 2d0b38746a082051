"""The index in SQLite: which entry has which words, ranked. Everything here blocks.

An FTS5 table without content: the words are in the index, the text stays in the journal alone. Such
a table forgets nothing. A thread that is read anew gets another number, and rows of the old number
are found no more; what a revert took back is left out by who asks. The thread, the folder and the
kind of an entry are words of a second column, so that a search in one thread costs what is in it.
"""

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from hashlib import blake2s
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from trimpoint.journal.port import Bookmark, Position
from trimpoint.journal.storage.file_ops import FILE_MODE
from trimpoint.recall.words import Term, match_all, match_most, with_parts

if TYPE_CHECKING:
    import sqlite3

FORMAT = 2
"""Raise it when what is indexed changes: an index of another format is made again."""
FILE_NAME = "recall.sqlite"
NEWEST_CONSIDERED = 5_000
"""Of more matches, the newest so many are ranked."""
MAX_LOG_BYTES = 1024 * 1024
MERGED_PAGES = 500
"""How much of the index one `tidy` goes through."""
COMMITTED_CHARS = 4 * 1024 * 1024
"""After so much text what was added is committed. Each commit writes a segment that is merged with
others later: few large commits are twice as fast as one for each piece of a journal.
"""
HASH_BYTES = 8 * 1024 * 1024
"""How much of a segment FTS5 gathers in memory: more than a commit has, so that it is written once.
"""

_SCHEMA = f"""
CREATE TABLE threads (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE, folder TEXT NOT NULL,
    bytes INTEGER NOT NULL, records INTEGER NOT NULL, digest BLOB NOT NULL
);
CREATE TABLE turns (number INTEGER PRIMARY KEY, thread INTEGER, id BLOB, entries INTEGER);
CREATE INDEX turns_by_id ON turns (id);
CREATE TABLE entries (number INTEGER PRIMARY KEY, turn INTEGER, place INTEGER);
CREATE VIRTUAL TABLE words USING fts5(
    body, labels, content='', tokenize="unicode61 remove_diacritics 2"
);
INSERT INTO words (words, rank) VALUES ('hashsize', {HASH_BYTES});
PRAGMA user_version = {FORMAT};
"""
_FIND = """
SELECT threads.id, turns.id, entries.place, found.badness
FROM (
    SELECT rowid, bm25(words, 1.0, 0.0) AS badness FROM words WHERE words MATCH ?
    ORDER BY rowid DESC LIMIT ?
) AS found
JOIN entries ON entries.number = found.rowid
JOIN turns ON turns.number = entries.turn
JOIN threads ON threads.number = turns.thread AND threads.id IS NOT NULL
ORDER BY found.badness, found.rowid DESC LIMIT ?
"""


class IndexedEntry(NamedTuple):
    """An entry to index: the `place`-th of its turn, counted from 0."""

    place: int
    kind: str
    text: str


class IndexedTurn(NamedTuple):
    """The part of a turn in a piece of a journal. `begins`: it begins in this piece. `entries`
    counts all its entries up to here, also those that are not indexed.
    """

    id: str
    begins: bool
    entries: int
    indexed: Sequence[IndexedEntry]


class Found(NamedTuple):
    """An entry that matches: the `place`-th of its turn. A higher `score` is a better match."""

    thread_id: str
    turn_id: str
    place: int
    score: float


class Where(NamedTuple):
    """The entries to search; None and nothing stand for all."""

    thread_id: str | None = None
    folder: str | None = None
    kinds: tuple[str, ...] = ()


class RecallIndex:
    """One connection to the index, made in `folder` where there is none.

    What `add` and `forget` change is found at once, and durable after `commit`, `close` or much
    more text. Where a change fails, all since the last commit is undone: open the index anew then.

    :raises sqlite3.Error: also from every method, when the file is damaged or cannot be written.
    :raises OSError: when the file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._database = _opened(folder / FILE_NAME)
        self._uncommitted_chars = 0
        try:
            self._prepare(folder)
        except BaseException:
            self._database.close()
            raise

    def _prepare(self, folder: Path) -> None:
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, FORMAT):
            self._database.close()
            discard_index(folder)
            self._database = _opened(folder / FILE_NAME)
        if version != FORMAT:
            self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Commits what was added and closes the file."""
        try:
            self.commit()
        finally:
            self._database.close()

    def commit(self) -> None:
        """Makes durable what was changed."""
        with self._undone_on_failure():
            self._database.commit()
            self._uncommitted_chars = 0

    def bookmarks(self) -> dict[str, Bookmark]:
        """Returns up to where each thread's journal is indexed."""
        rows = self._database.execute(
            "SELECT id, bytes, records, digest FROM threads WHERE id IS NOT NULL"
        )
        return {
            str(thread_id): Bookmark(Position(at, records), digest)
            for thread_id, at, records, digest in rows
        }

    def forget(self, thread_id: str) -> None:
        """Takes a thread out of what is found."""
        with self._undone_on_failure():
            self._database.execute("UPDATE threads SET id = NULL WHERE id = ?", (thread_id,))

    def entries_in(self, thread_id: str, turn_id: str) -> int:
        """Returns how many entries of a turn the index knows of."""
        row = self._turn(thread_id, turn_id)
        return int(row[1]) if row is not None else 0

    def add(
        self, thread_id: str, folder: str, turns: Iterable[IndexedTurn], through: Bookmark
    ) -> None:
        """Adds what a piece of a thread's journal says, which ends at `through`: all of it or
        nothing. `folder` counts for a thread that is not known yet.
        """
        with self._undone_on_failure():
            thread, known_folder = self._thread(thread_id, folder)
            rows = _NewRows(self._next("turns"), self._next("entries"))
            labels = f"t{thread} {_folder_label(known_folder)}"
            for turn in turns:
                self._add_turn(thread, thread_id, turn, labels, rows)
            self._insert(rows)
            self._database.execute(
                "UPDATE threads SET bytes = ?, records = ?, digest = ? WHERE number = ?",
                (through.position.offset_bytes, through.position.records, through.digest, thread),
            )
        self._uncommitted_chars += rows.chars
        if self._uncommitted_chars >= COMMITTED_CHARS:
            self.commit()

    @contextmanager
    def _undone_on_failure(self) -> Generator[None]:
        try:
            yield
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Undoes what was changed since the last commit."""
        self._database.rollback()
        self._uncommitted_chars = 0

    def _next(self, table: str) -> int:
        newest = self._database.execute(f"SELECT max(number) FROM {table}").fetchone()[0]
        return (newest or 0) + 1

    def _add_turn(
        self, thread: int, thread_id: str, turn: IndexedTurn, labels: str, rows: "_NewRows"
    ) -> None:
        known = None if turn.begins else self._turn(thread_id, turn.id)
        if known is None:
            number = rows.add_turn(thread, turn)
        else:
            number = known[0]
            update = "UPDATE turns SET entries = ? WHERE number = ?"
            self._database.execute(update, (turn.entries, number))
        for entry in turn.indexed:
            rows.add_entry(number, entry, labels)

    def _insert(self, rows: "_NewRows") -> None:
        """Inserts many rows with one call: a call for each takes longer than the row."""
        many = self._database.executemany
        many("INSERT INTO turns (number, thread, id, entries) VALUES (?, ?, ?, ?)", rows.turns)
        many("INSERT INTO entries (number, turn, place) VALUES (?, ?, ?)", rows.entries)
        many("INSERT INTO words (rowid, body, labels) VALUES (?, ?, ?)", rows.words)

    def forgotten_share(self) -> float:
        """Returns the share of the index that belongs to removed threads (0 to 1)."""
        query = (
            "SELECT total(turns.entries), total(turns.entries * (threads.id IS NULL))"
            " FROM turns JOIN threads ON threads.number = turns.thread"
        )
        total, gone = self._database.execute(query).fetchone()
        return float(gone / total) if total else 0.0

    def begin_tidying(self) -> None:
        """Asks SQLite to merge the whole index into one segment; calls of `tidy` do the work."""
        with self._database as database:
            database.execute(
                "INSERT INTO words (words, rank) VALUES ('merge', ?)", (-MERGED_PAGES,)
            )

    def tidy(self) -> bool:
        """Merges some segments of the index and frees disk space; returns whether more is left to
        merge.
        """
        before = self._database.total_changes
        with self._database as database:
            database.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (MERGED_PAGES,))
        # SQLite counts one change for the statement, and more where it joined something.
        if self._database.total_changes - before > 1:
            return True
        # As a single statement it would free one page.
        self._database.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
        return False

    def search(self, terms: list[Term], where: Where, limit: int) -> list[Found]:
        """Returns the best matches of all terms; where nothing has all, those of all but one."""
        if not terms:
            return []
        labels = self._labels(where)
        if labels is None:
            return []
        found = self._found(match_all(terms), labels, limit)
        if found or len(terms) == 1:
            return found
        return self._found(match_most(terms), labels, limit)

    def _found(self, expression: str, labels: str, limit: int) -> list[Found]:
        match = f"body : ({expression})" + (f" AND labels : ({labels})" if labels else "")
        rows = self._database.execute(_FIND, (match, NEWEST_CONSIDERED, limit))
        return [
            Found(thread_id, _unpacked(turn_id), place, -badness)
            for thread_id, turn_id, place, badness in rows
        ]

    def _labels(self, where: Where) -> str | None:
        """Returns what the labels of an entry must match; None when there can be none."""
        wanted: list[str] = []
        if where.thread_id is not None:
            query = "SELECT number FROM threads WHERE id = ?"
            row = self._database.execute(query, (where.thread_id,)).fetchone()
            if row is None:
                return None
            wanted.append(f'"t{row[0]}"')
        if where.folder is not None:
            wanted.append(f'"{_folder_label(where.folder)}"')
        if where.kinds:
            kinds = " OR ".join(f'"k{kind}"' for kind in where.kinds)
            wanted.append(f"({kinds})")
        return " AND ".join(wanted)

    def _thread(self, thread_id: str, folder: str) -> tuple[int, str]:
        query = "SELECT number, folder FROM threads WHERE id = ?"
        row = self._database.execute(query, (thread_id,)).fetchone()
        if row is not None:
            return int(row[0]), str(row[1])
        insert = "INSERT INTO threads (id, folder, bytes, records, digest) VALUES (?, ?, 0, 0, '')"
        added = self._database.execute(insert, (thread_id, folder))
        assert added.lastrowid is not None
        return added.lastrowid, folder

    def _turn(self, thread_id: str, turn_id: str) -> tuple[int, int] | None:
        query = (
            "SELECT turns.number, turns.entries FROM turns"
            " JOIN threads ON threads.number = turns.thread"
            " WHERE turns.id = ? AND threads.id = ? ORDER BY turns.number DESC LIMIT 1"
        )
        row = self._database.execute(query, (_packed(turn_id), thread_id)).fetchone()
        return (int(row[0]), int(row[1])) if row is not None else None


class _NewRows:
    """Rows of the tables, numbered from `turn` and `entry` on. `chars`: how much text they have."""

    def __init__(self, turn: int, entry: int) -> None:
        self.turns: list[tuple[int, int, bytes | str, int]] = []
        self.entries: list[tuple[int, int, int]] = []
        self.words: list[tuple[int, str, str]] = []
        self.chars = 0
        self._turn = turn
        self._entry = entry

    def add_turn(self, thread: int, turn: IndexedTurn) -> int:
        """Adds a turn and returns its number."""
        number = self._turn + len(self.turns)
        self.turns.append((number, thread, _packed(turn.id), turn.entries))
        return number

    def add_entry(self, turn: int, entry: IndexedEntry, labels: str) -> None:
        """Adds an entry of the turn with this number."""
        number = self._entry + len(self.entries)
        self.entries.append((number, turn, entry.place))
        self.words.append((number, with_parts(entry.text), f"{labels} k{entry.kind}"))
        self.chars += len(entry.text)


def discard_index(folder: Path) -> None:
    """Removes the index; it is made again when it is needed.

    :raises OSError: when it cannot be removed.
    """
    for suffix in ("", "-journal", "-wal", "-shm"):
        (folder / f"{FILE_NAME}{suffix}").unlink(missing_ok=True)


def _packed(turn_id: str) -> bytes | str:
    """Returns a UUID as its 16 bytes, which saves space; any other id unchanged."""
    try:
        packed = UUID(turn_id)
    except ValueError:
        return turn_id
    return packed.bytes if str(packed) == turn_id else turn_id


def _unpacked(packed: bytes | str) -> str:
    return packed if isinstance(packed, str) else str(UUID(bytes=packed))


def _folder_label(folder: str) -> str:
    return "f" + blake2s(folder.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _opened(path: Path) -> "sqlite3.Connection":
    # Imported late, so that a daemon that has no threads never loads it.
    import sqlite3

    # The file is for this user alone from its first moment on; SQLite gives its companions the
    # same mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))
    database = sqlite3.connect(path, check_same_thread=False)
    database.execute("PRAGMA auto_vacuum = INCREMENTAL")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(f"PRAGMA journal_size_limit = {MAX_LOG_BYTES}")
    return database
