"""Moves in the history of the open thread: to what is before and behind, to a place, to a turn."""

from collections.abc import Awaitable, Callable

from trimpoint.tui.model.state import ChatState, Tone
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.inquiries import Access
from trimpoint.tui.session.pages import Pages


class History:
    """The moves. Each does nothing if the daemon cannot be reached."""

    def __init__(self, state: ChatState, changes: Changes, access: Access) -> None:
        self._state = state
        self._changes = changes
        self._access = access

    async def read_older(self) -> None:
        """Loads the page before the loaded entries."""
        await self._read(Pages.read_older)

    async def read_newer(self) -> None:
        """Loads the page behind the loaded entries."""
        await self._read(Pages.read_newer)

    async def read_around(self, place: int) -> None:
        """Loads the entries around a place of the thread."""
        await self._read(lambda pages: pages.read_around(place))

    async def find_turn(self, number: int) -> str | None:
        """Loads a turn; returns the key of its first entry. Says so if there is no such turn."""
        state, key = self._state, None
        newest = max((mark.number for mark in state.marks.values()), default=0)
        if 0 < number <= newest:
            key = await self._access.attempt(lambda client: Pages(client, state).find_turn(number))
            if key is None:
                state.notify(Tone.PROBLEM, f"Turn {number} was not found in the history.")
        else:
            there_is = f"the newest is {newest}" if newest else "there is none yet"
            state.notify(Tone.PROBLEM, f"There is no turn {number}; {there_is}.")
        self._changes.note()
        return key

    async def toggle(self, trim_point_id: str) -> None:
        """Shows or hides the pruned entries of a trim point."""
        state, transcript = self._state, self._state.transcript
        state.expanded.symmetric_difference_update({trim_point_id})
        place = transcript.first + (transcript.find(f"divider {trim_point_id}") or 0)
        is_at_end = transcript.is_at_end
        await self._read(Pages.read_newest if is_at_end else lambda pages: pages.read_around(place))

    async def _read(self, reading: Callable[[Pages], Awaitable[None]]) -> None:
        await self._access.attempt(lambda client: reading(Pages(client, self._state)))
        self._changes.note()
