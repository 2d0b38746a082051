"""Defines the part of a thread's state that people see: turns, entries, trim points and pins."""

import msgspec

from trimpoint.core.model.usage import UsageSample


class Turn(msgspec.Struct, gc=False):
    """`first_entry_index` is where its entries begin; `items` are its raw items while it is in
    context.

    `report` is the last one received, while it ran, of what the context holds. Of a turn that was
    tried again, `provider_turn_id` is what the provider calls it since, `first_generation` where it
    had failed, and `earlier_items` counts those of its items that are from there; they stand first.
    `injected` counts its last items that a client put there after the turn had ended;
    `injected_apart` are those of a turn whose items were dropped, because they may stand in the
    rollout of a later generation. `is_cut`: a revert went back to the turn's end, so what its
    rollout has behind that is no longer part of the context.
    """

    id: str
    generation: int
    started_at_ms: int
    first_entry_index: int
    status: str = "running"
    completed_at_ms: int | None = None
    error: str | None = None
    error_kind: str = ""
    message_count: int = 0
    items: list[bytes] = []
    items_complete: bool = False
    provider_turn_id: str | None = None
    first_generation: int = 0
    earlier_items: int = 0
    report: UsageSample | None = None
    injected: int = 0
    is_cut: bool = False
    injected_apart: list[bytes] = []

    @property
    def injected_items(self) -> list[bytes]:
        """Returns those of its items that were injected behind its end."""
        return self.items[len(self.items) - self.injected :] or self.injected_apart

    @property
    def without_injected(self) -> "Turn":
        """Returns the turn as it was when it had ended."""
        items = self.items[: len(self.items) - self.injected]
        return msgspec.structs.replace(self, items=items, injected=0, injected_apart=[])


class Entry(msgspec.Struct, gc=False):
    """One message or activity of the ledger."""

    id: str
    turn_id: str
    kind: str
    role: str
    text: str
    created_at_ms: int
    detail: bytes = b""


def qualified_entry_id(turn_id: str, entry_id: str) -> str:
    """Returns a name for an entry that means it alone: model providers number items as they like,
    and may use a number again.
    """
    return f"{turn_id}#{entry_id}"


class TrimPoint(msgspec.Struct):
    """`turn_index` and `entry_index` are the first positions after the boundary.

    It pruned the `pruned_turn_count` turns that stand before `turn_index`. `pruned_turn_ids` lists
    them where the journal does (records of older versions), and is empty otherwise.
    """

    id: str
    created_at_ms: int
    before_entry_id: str | None
    pruned_message_count: int
    pruned_turn_ids: tuple[str, ...]
    first_kept_turn_id: str | None
    trigger: str
    generation: int
    turn_index: int
    entry_index: int
    summary: str | None = None
    summary_unavailable: bool = False
    pruned_turn_count: int = 0


class Discard(msgspec.Struct):
    """A trim point of another kind: it took single things out of the context and moved no boundary.

    `positions` are those of the raw items, `entries` the ids of the ledger's entries and `messages`
    how many of these are prompts and answers, each by turn id. `entry_ids` are what clients know
    the entries by. It was made when the thread had `turn_index` turns and `entry_index` entries.
    """

    id: str
    created_at_ms: int
    entry_ids: tuple[str, ...]
    positions: dict[str, tuple[int, ...]]
    entries: dict[str, tuple[str, ...]]
    messages: dict[str, int]
    generation: int
    trigger: str
    est_tokens: int
    turn_index: int
    entry_index: int


Boundary = TrimPoint | Discard


class UndoneTrim(msgspec.Struct):
    """A trim that was undone: `point` or `discard` is what it was.

    It stood in the generations from its own to the one before `undone_in`: a provider thread of
    these holds a context that is trimmed by it.
    """

    point: TrimPoint | None
    discard: Discard | None
    undone_in: int

    @property
    def boundary(self) -> Boundary:
        """Returns the trim itself."""
        boundary = self.point or self.discard
        assert boundary is not None
        return boundary


class Pin(msgspec.Struct, frozen=True):
    """A part of the context that no trim removes: a turn, or without one a note. `place` is the
    turn's in the ledger, or how many turns there were when the note was made.
    """

    id: str
    turn_id: str | None
    note: str
    created_at_ms: int
    place: int
