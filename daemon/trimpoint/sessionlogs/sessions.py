"""A session on disk, and its two readings: the first finds out what became of each message, the
second makes the records.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.opening import CannotRead, opened, shown, size_of
from trimpoint.sessionlogs.reading import About, EndingReader, Reader
from trimpoint.sessionlogs.records import Records
from trimpoint.sessionlogs.text.lines import batches_of
from trimpoint.sessionlogs.text.whole import MAX_WHOLE_BYTES, TOO_LARGE, WHOLE_SUFFIX


class FoundSession(NamedTuple):
    """A session on disk. `parts` are its files, each with the data that the reader needs; `clears`
    were found outside the log. `ending` makes a reader that can begin within the log.
    """

    id: str
    agent: u.Agent
    parts: list[tuple[Path, Any]]
    reader: Callable[[Records], Reader]
    title: str | None = None
    lineage: u.Lineage | None = None
    attachments: tuple[u.Attachment, ...] = ()
    clears: tuple[u.Clear, ...] = ()
    ending: Callable[[Records], EndingReader] | None = None


class Survey(NamedTuple):
    """The result of the first reading."""

    records: Records
    about: About
    sizes: list[int]


def survey(session: FoundSession) -> Survey:
    """Reads a session for the first time.

    :raises CannotRead: when one of its files cannot be read.
    """
    sizes = [size_of(path) for path, _ in session.parts]
    records = Records(clears=session.clears)
    reader = session.reader(records)
    for _ in _feed(session, reader, records, sizes):
        pass  # nothing is made the first time
    return Survey(records, reader.about(), sizes)


class Reading:
    """The second reading: iterate over the records, then call `end`.

    Without `include_compacted`, messages that are no longer in the context are left out.

    :raises CannotRead: while iterating, when a file cannot be read.
    """

    def __init__(
        self,
        session: FoundSession,
        *,
        include_compacted: bool = True,
        surveyed: Survey | None = None,
    ) -> None:
        self._session = session
        self._first = surveyed or survey(session)
        self._records = Records(
            self._first.records.window.fates(),
            only_active=not include_compacted,
            clears=session.clears,
        )

    def __iter__(self) -> Iterator[u.Record]:
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[list[u.Record]]:
        records, session = self._records, self._session
        yield [u.SessionRecord(session=described(session, self._first))]
        for _ in _feed(session, session.reader(records), records, self._first.sizes):
            yield records.take()
        yield records.take()
        yield [self._first.records.usage.record()]

    def end(self, digest: str) -> u.EndRecord:
        """Returns the last record, after all others were taken."""
        return self._records.end(digest)


def _feed(
    session: FoundSession, reader: Reader, records: Records, sizes: list[int]
) -> Iterator[None]:
    """Passes all lines to the reader, and yields after every few so that records can be taken."""
    for (path, part), size in zip(session.parts, sizes, strict=True):
        if path.suffix == WHOLE_SUFFIX and size > MAX_WHOLE_BYTES:
            raise CannotRead(f"{shown(path)} {TOO_LARGE}")
        damage = f"{shown(path.name)} is damaged, and its rest could not be decompressed."
        with opened(path, size, partial(records.note, damage)) as source:
            reader.begin_part(part)
            feed = reader.feed
            for lines in batches_of(source):
                for line in lines:
                    feed(line)
                    if reader.part_done:
                        break
                if records.ready:
                    yield
                if reader.part_done:
                    break
    reader.finish()


def described(session: FoundSession, first: Survey) -> u.Session:
    """Returns the data about a session."""
    records, about = first.records, first.about
    return u.Session(
        id=session.id,
        agent=session.agent,
        title=session.title or about.title,
        first_prompt=records.first_prompt,
        cwd=about.cwd,
        created_at=about.created_at or records.first_timestamp,
        updated_at=records.last_timestamp,
        model=records.model,
        agent_version=about.agent_version,
        git_branch=about.git_branch,
        files=[shown(path) for path, _ in session.parts],
        lineage=session.lineage or about.lineage,
        attachments=list(session.attachments),
    )
