"""Pages of a session, and its timeline, without holding or reading more than is needed."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trimpoint.cli.main import main
from trimpoint.gateway.methods.agent_sessions.session_pages import (
    MAX_PAUSED,
    SessionPages,
    place_in,
)
from trimpoint.sessionlogs.export import ndjson
from trimpoint.sessionlogs.sessions import FoundSession, Reading
from trimpoint.sessionlogs.timeline import dividers_of, timeline_of

from tests.sessionlogs.sessions import FIXTURES, meta, only_session, said, write_rollout

HAND = FIXTURES / "codex-0.171.0" / "compacted-by-hand"


class Counted:
    """Begins readings of a session and counts them."""

    def __init__(self, found: FoundSession) -> None:
        self.found = found
        self.begun = 0

    def __call__(self) -> Iterator[bytes]:
        self.begun += 1
        return ndjson(self.found, include_compacted=True)


def paged(pages: SessionPages, read: Counted, start: int = 0, limit: int = 3) -> list[bytes]:
    """The lines from a place to the end, page by page."""
    lines: list[bytes] = []
    while True:
        place = place_in(read.found, include_compacted=True, start=start + len(lines))
        page = pages.page(place, read, limit=limit, max_bytes=1_000_000)
        assert 1 <= len(page.lines) <= limit
        lines += page.lines
        if not page.more:
            return lines


@pytest.fixture
def read() -> Counted:
    return Counted(only_session(HAND))


def test_a_session_is_read_once_for_all_its_pages(read: Counted) -> None:
    assert paged(SessionPages(), read) == list(ndjson(read.found, include_compacted=True))
    assert read.begun == 1


def test_a_page_that_was_not_asked_for_in_order_is_the_same(read: Counted) -> None:
    pages = SessionPages()
    whole = paged(pages, read)
    assert paged(pages, read, start=4) == whole[4:]
    assert read.begun == 2


def test_readings_that_wait_are_few(read: Counted) -> None:
    pages = SessionPages()
    for limit in range(1, MAX_PAUSED + 3):
        place = place_in(read.found, include_compacted=True, start=0)
        pages.page(place, read, limit=limit, max_bytes=1_000_000)
    again = place_in(read.found, include_compacted=True, start=1)
    pages.page(again, read, limit=1, max_bytes=1_000_000)
    assert read.begun == MAX_PAUSED + 3


def test_a_page_holds_one_record_however_large(read: Counted) -> None:
    place = place_in(read.found, include_compacted=True, start=0)
    assert len(SessionPages().page(place, read, limit=9, max_bytes=1).lines) == 1


def test_a_session_that_grew_between_two_pages_is_read_anew(tmp_path: Path) -> None:
    path = write_rollout(tmp_path, 1, [meta(1), *(said("user", f"p{n}") for n in range(9))])
    read = Counted(only_session(tmp_path))
    pages = SessionPages()
    first = place_in(read.found, include_compacted=True, start=0)
    pages.page(first, read, limit=3, max_bytes=1_000_000)
    with path.open("ab") as file:
        file.write(json.dumps(said("user", "later")).encode() + b"\n")
    rest = paged(pages, read, start=3)
    assert read.begun == 2
    assert json.loads(rest[-3])["text"] == "later"


@pytest.mark.parametrize(
    ("expand", "shown"),
    [
        ([], ["first", "second", "third", "fourth", "fifth", "reply 6"]),
        (["2"], ["first", "second", "third", "fourth", "reply 5", "fifth", "reply 6"]),
    ],
)
def test_a_timeline_hides_what_a_divider_took_out(
    expand: list[str], shown: list[str], show: Callable[..., list[dict[str, object]]]
) -> None:
    entries = show(*(word for one in expand for word in ("--expand", one)))
    assert [one["text"] for one in entries if one["kind"] == "message"] == shown


def test_the_newest_entries_of_a_timeline_are_shown(
    show: Callable[..., list[dict[str, object]]],
) -> None:
    assert show("-n", "2") == show()[-2:]


@pytest.fixture
def show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[dict[str, object]]]:
    monkeypatch.setenv("CODEX_HOME", str(HAND))
    session_id = only_session(HAND).id

    def run(*options: str) -> list[dict[str, object]]:
        assert main(["sessions", "show", session_id, "--agent", "codex", "--json", *options]) == 0
        entries: list[dict[str, object]] = json.loads(capsys.readouterr().out)["entries"]
        return entries

    return run


def test_dividers_hold_ranges_and_no_lists_of_indices() -> None:
    dividers = dividers_of(Reading(only_session(HAND)))
    assert [len(one.took_out) for one in dividers] == [7, 1]
    assert all(getattr(one.point, "replaced_message_indices", []) == [] for one in dividers)
    kinds = [type(one) for one in timeline_of(Reading(only_session(HAND)), dividers, None)]
    assert len(kinds) > len(dividers)
