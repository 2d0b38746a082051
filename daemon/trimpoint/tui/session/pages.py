"""Reads pages of the open thread's timeline: at its end, at its loaded part, or anywhere."""

from typing import Any

from trimpoint_protocol.client import Client, RemoteError
from trimpoint_protocol.methods import TimelinePage
from trimpoint_protocol.readmodel import TimelineActivity, TimelineMessage

from trimpoint.cli.views.timeline_view import TurnMark
from trimpoint.tui.model.state import ChatState
from trimpoint.tui.model.transcript import key_of

FIRST_PAGE, PAGE, TAIL = 100, 500, 60


class Pages:
    """The pages of the thread that is open when one is requested. What comes after another thread
    was opened is dropped.
    """

    def __init__(self, client: Client, state: ChatState) -> None:
        self._client = client
        self._state = state

    async def read_older(self) -> None:
        """Reads the page before the loaded entries."""
        state, transcript = self._state, self._state.transcript
        if state.thread_id is None or not transcript.has_older:
            return
        first, cursor = at = transcript.first, transcript.cursor
        try:
            page = await self._page(PAGE, cursor=cursor, before_entry=None if cursor else first)
        except RemoteError:  # it was of another view of the thread
            await self.read_newest()
            return
        if transcript is state.transcript and at == (transcript.first, transcript.cursor):
            transcript.prepend(page)

    async def read_newer(self) -> None:
        """Reads the page behind the loaded entries."""
        transcript, step = self._state.transcript, PAGE
        while not transcript.is_at_end and step > 0 and transcript.count > 0:
            page = await self._page(PAGE, before_entry=transcript.end + step)
            if transcript is not self._state.transcript or transcript.append(page):
                return
            step //= 2  # a page is bounded in bytes, too

    async def read_around(self, place: int) -> None:
        """Loads the entries around a place of the thread instead of those that are loaded. Does
        nothing if the daemon does not say where its pages are, as an older one.
        """
        transcript, step = self._state.transcript, PAGE // 2
        while True:
            page = await self._page(PAGE, before_entry=place + step)
            if page.first_entry <= place or step == 1:
                break
            step //= 2
        if transcript is self._state.transcript and page.entry_count > 0:
            transcript.replace(page, is_newest=False)

    async def find_turn(self, number: int) -> str | None:
        """Loads a turn, and what is around it, where it is not loaded. Opens the sections that hide
        it. Returns the key of its first entry; None if there is no such turn.
        """
        state, transcript = self._state, self._state.transcript
        while (key := self._first_of(number)) is None and transcript is state.transcript:
            before = await self._page(1, before_turn=number - 1)
            place = before.first_entry + len(before.entries)
            await self.read_around(place)
            if self._first_of(number) is None:
                hidden = transcript.hidden_before(place)
                if hidden is None or hidden in state.expanded:
                    return None
                state.expanded.add(hidden)
        return key if transcript is state.transcript else None

    def _first_of(self, number: int) -> str | None:
        ids = {turn_id for turn_id, mark in self._state.marks.items() if mark.number == number}
        return next(
            (
                key_of(one)
                for one in self._state.transcript.entries
                if isinstance(one, TimelineMessage | TimelineActivity) and one.turn_id in ids
            ),
            None,
        )

    async def _page(self, limit: int, **place: Any) -> TimelinePage:
        """Reads a page of the open thread, and the numbers of its turns."""
        state = self._state
        thread_id, expanded = str(state.thread_id), sorted(state.expanded)
        page = await self._client.timeline(thread_id, expand=expanded, limit=limit, **place)
        if thread_id == state.thread_id:
            found = {one.id: TurnMark(one.number, "", one.status, one.error) for one in page.turns}
            state.marks = dict(
                sorted({**state.marks, **found}.items(), key=lambda one: one[1].number)
            )
        return page

    async def read_newest(self) -> None:
        """Reads as many entries as were loaded before, the newest ones."""
        state, thread_id = self._state, self._state.thread_id
        wanted = max(FIRST_PAGE, min(len(state.transcript.entries), PAGE))
        try:
            page = await self._page(wanted)
        except RemoteError:  # an opened section is gone: its trim was undone or reverted
            state.expanded.clear()
            page = await self._page(wanted)
        if thread_id == state.thread_id:
            state.transcript.replace(page)
            state.live.forget(state.transcript.known_keys(wanted))

    async def read_tail(self) -> None:
        """Reads the newest entries."""
        state, thread_id = self._state, self._state.thread_id
        page = await self._page(TAIL)
        if thread_id == state.thread_id:
            state.transcript.merge(page)
            state.live.forget(state.transcript.known_keys(TAIL))
