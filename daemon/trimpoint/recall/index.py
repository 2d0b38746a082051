"""The full-text index in SQLite, which finds and ranks entries by their words. All functions block.

It is an FTS5 table without content: the index has the words, only the journal has the text. Rows of
such a table cannot be deleted. A thread that is indexed again therefore gets another number, and
rows of its old number are no longer found; callers must drop entries that a revert took back. The
thread, the folder and the kind of an entry are words of a second column, so that the cost of a
search in one thread depends on that thread only.
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

FORMAT = 3
"""The version of the index. It must be raised when the indexed content changes; an index of another
version is created again.
"""
FILE_NAME = "recall.sqlite"
NEWEST_CONSIDERED = 5_000
"""If there are more matches, only so many of the newest are ranked."""
MAX_LOG_BYTES = 1024 * 1024
MERGED_PAGES = 500
"""The number of pages of the index that one call of `tidy` merges."""
COMMITTED_CHARS = 12 * 1024 * 1024
"""After so many characters of text, added rows are committed. Each commit writes a segment that is
merged with others later, so few large commits are twice as fast as one for each piece of a journal.
"""
HASH_BYTES = 24 * 1024 * 1024
"""The bytes of a segment that FTS5 collects in memory. They are more than a commit has, so that
each segment is written once.
"""
MERGED_SEGMENTS = 8
"""So many segments of a size are merged into one. With half as many, each word is written more
often.
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
    body, labels, content='', tokenize="unicode61 categories 'L* N* Co M*'"
);
INSERT INTO words (words, rank) VALUES ('hashsize', {HASH_BYTES});
INSERT INTO words (words, rank) VALUES ('automerge', {MERGED_SEGMENTS});
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
    """An entry to index. `place` is its position in its turn, counted from 0."""

    place: int
    kind: str
    text: str


class IndexedTurn(NamedTuple):
    """The part of a turn that is in a piece of a journal. `begins` says whether the turn begins in
    this piece. `entries` is the number of its entries up to the end of the piece, including those
    that are not indexed.
    """

    id: str
    begins: bool
    entries: int
    indexed: Sequence[IndexedEntry]


class Found(NamedTuple):
    """An entry that matches. `place` is its position in its turn, counted from 0. A higher `score`
    is a better match.
    """

    thread_id: str
    turn_id: str
    place: int
    score: float


class Where(NamedTuple):
    """Restricts a search to entries of a thread, a folder or kinds; None or an empty tuple means no
    restriction.
    """

    thread_id: str | None = None
    folder: str | None = None
    kinds: tuple[str, ...] = ()


class RecallIndex:
    """A connection to the index, which is created in `folder` if it does not exist.

    Changes by `add` and `forget` are found by searches at once. They are durable after `commit`,
    `close`, or `COMMITTED_CHARS` characters of text. If a change fails, all changes since the last
    commit are undone, and the index must be opened again.

    :raises sqlite3.Error: when the file is damaged or cannot be written; also from every method.
    :raises OSError: when the file cannot be created.
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
        """Commits all changes and closes the file."""
        try:
            self.commit()
        finally:
            self._database.close()

    def commit(self) -> None:
        """Makes all changes of the index durable."""
        with self._undone_on_failure():
            self._database.commit()
            self._uncommitted_chars = 0

    def bookmarks(self) -> dict[str, Bookmark]:
        """Returns for each thread the bookmark up to which its journal is indexed."""
        rows = self._database.execute(
            "SELECT id, bytes, records, digest FROM threads WHERE id IS NOT NULL"
        )
        return {
            str(thread_id): Bookmark(Position(at, records), digest)
            for thread_id, at, records, digest in rows
        }

    def forget(self, thread_id: str) -> None:
        """Removes a thread from the results of searches."""
        with self._undone_on_failure():
            self._database.execute("UPDATE threads SET id = NULL WHERE id = ?", (thread_id,))

    def entries_in(self, thread_id: str, turn_id: str) -> int:
        """Returns the number of entries of a turn that the index counts."""
        row = self._turn(thread_id, turn_id)
        return int(row[1]) if row is not None else 0

    def add(
        self, thread_id: str, folder: str, turns: Iterable[IndexedTurn], through: Bookmark
    ) -> None:
        """Adds a piece of a thread's journal that ends at `through`, completely or not at all.
        `folder` is used only for a thread that is not indexed yet.
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
        """Undoes all changes since the last commit."""
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
        """Inserts all rows with one call for each table, because a call for each row takes longer
        than the row itself.
        """
        many = self._database.executemany
        many("INSERT INTO turns (number, thread, id, entries) VALUES (?, ?, ?, ?)", rows.turns)
        many("INSERT INTO entries (number, turn, place) VALUES (?, ?, ?)", rows.entries)
        many("INSERT INTO words (rowid, body, labels) VALUES (?, ?, ?)", rows.words)

    def forgotten_share(self) -> float:
        """Returns the share of the index that belongs to removed threads, from 0 to 1."""
        query = (
            "SELECT total(turns.entries), total(turns.entries * (threads.id IS NULL))"
            " FROM turns JOIN threads ON threads.number = turns.thread"
        )
        total, gone = self._database.execute(query).fetchone()
        return float(gone / total) if total else 0.0

    def begin_tidying(self) -> None:
        """Starts merging the whole index into one segment; calls of `tidy` do the work."""
        with self._database as database:
            database.execute(
                "INSERT INTO words (words, rank) VALUES ('merge', ?)", (-MERGED_PAGES,)
            )

    def tidy(self) -> bool:
        """Merges some segments of the index, and frees disk space after the last one. Returns
        whether more is left to merge.
        """
        before = self._database.total_changes
        with self._database as database:
            database.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (MERGED_PAGES,))
        # SQLite counts one change for the statement, and more if it merged segments.
        if self._database.total_changes - before > 1:
            return True
        # Executed as a single statement, the vacuum would free only one page.
        self._database.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
        return False

    def search(self, terms: list[Term], where: Where, limit: int) -> list[Found]:
        """Returns at most `limit` of the best matches of all terms; if there are none, matches of
        all terms but one.
        """
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
        """Returns the expression for the labels of the entries to search, or None if no entry can
        match.
        """
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
    """New rows of the tables, numbered from `turn` and `entry` on. `chars` is the number of
    characters of their text.
    """

    def __init__(self, turn: int, entry: int) -> None:
        self.turns: list[tuple[int, int, bytes | str, int]] = []
        self.entries: list[tuple[int, int, int]] = []
        self.words: list[tuple[int, str, str]] = []
        self.chars = 0
        self._turn = turn
        self._entry = entry

    def add_turn(self, thread: int, turn: IndexedTurn) -> int:
        """Adds a turn and returns its row number."""
        number = self._turn + len(self.turns)
        self.turns.append((number, thread, _packed(turn.id), turn.entries))
        return number

    def add_entry(self, turn: int, entry: IndexedEntry, labels: str) -> None:
        """Adds an entry of the turn with the row number `turn`."""
        number = self._entry + len(self.entries)
        self.entries.append((number, turn, entry.place))
        self.words.append((number, with_parts(entry.text), f"{labels} k{entry.kind}"))
        self.chars += len(entry.text)


def discard_index(folder: Path) -> None:
    """Deletes the index; it is created again when it is needed.

    :raises OSError: when it cannot be deleted.
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

    # The file is created with a mode for this user only; SQLite gives the files beside it the same
    # mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))
    database = sqlite3.connect(path, check_same_thread=False)
    database.execute("PRAGMA auto_vacuum = INCREMENTAL")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(f"PRAGMA journal_size_limit = {MAX_LOG_BYTES}")
    return database
