"""The types of the part of a thread's state that people see: turns, entries, trim points, pins."""

from collections.abc import Sequence

import msgspec

from trimpoint.core.model.usage import UsageSample


class Turn(msgspec.Struct, gc=False):
    """One turn of the ledger.

    `first_entry_index` is the position of its first entry in the ledger. `items` are its raw items
    for as long as it is in the context. `report` is the last usage report that arrived while the
    turn ran.

    For a turn that was repeated after an overflow, `provider_turn_id` is Codex's id of the
    repetition, `first_generation` the generation in which it failed, and `earlier_items` the number
    of items at the start of `items` that are from that generation.

    `injected` counts the items at the end of `items` that a client injected after the turn's end.
    `injected_apart` holds the injected items of a turn whose items were dropped; they are needed
    because the rollout of a later generation may contain them. `is_cut` says that a revert went
    back to the end of this turn, so that what follows it in its rollout is not part of the context.
    `injected_before` are the items that a client injected before the turn while no turn was in the
    context; they are not among `items`. `output_bytes` is at least the size of the tool output
    among `items`.
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
    injected_before: list[bytes] = []
    output_bytes: int = 0

    @property
    def injected_items(self) -> list[bytes]:
        """Returns the items that a client injected after the turn's end."""
        return self.items[len(self.items) - self.injected :] or self.injected_apart

    @property
    def without_injected(self) -> "Turn":
        """Returns a copy of the turn without the items that were injected after its end."""
        items = self.items[: len(self.items) - self.injected]
        return msgspec.structs.replace(self, items=items, injected=0, injected_apart=[])


class Entry(msgspec.Struct, gc=False):
    """One message or activity of the ledger. `is_part`: the turn ended in the middle of this
    answer, so that the model does not have it.
    """

    id: str
    turn_id: str
    kind: str
    role: str
    text: str
    created_at_ms: int
    detail: bytes = b""
    is_part: bool = False

    @property
    def is_message_of_model(self) -> bool:
        """Returns whether the model was given the entry as a message, or has said it."""
        return self.kind == "message" and not self.is_part


def qualified_entry_id(turn_id: str, entry_id: str) -> str:
    """Returns an id for an entry that is unique in its thread. An entry's own id is not: model
    providers number items as they like and may use a number again.
    """
    return f"{turn_id}#{entry_id}"


class TrimPoint(msgspec.Struct):
    """A trim point that pruned turns. `turn_index` and `entry_index` are the positions of the first
    turn and entry after the boundary.

    It pruned the `pruned_turn_count` turns before `turn_index`. `pruned_turn_ids` lists their ids
    only if the journal does, as records of older versions do; otherwise it is empty.
    The `pruned_injected` oldest items that were injected before the first turn after the boundary
    are before the boundary too.
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
    pruned_injected: int = 0


def turns_behind(point: TrimPoint | None, ledger: Sequence[Turn]) -> list[Turn]:
    """Returns the turns of `ledger` after the boundary, oldest first. Injected items of the first
    turn that are before the boundary are removed from it.
    """
    if point is None:
        return list(ledger)
    left = list(ledger[point.turn_index :])
    if left and point.pruned_injected:
        injected = left[0].injected_before[point.pruned_injected :]
        left[0] = msgspec.structs.replace(left[0], injected_before=injected)
    return left


def injected_behind(
    point: TrimPoint | None, ledger: Sequence[Turn], injected: Sequence[bytes]
) -> list[bytes]:
    """Returns those of the items `injected` after the last turn of `ledger` that are after the
    boundary.
    """
    if point is None or point.turn_index < len(ledger):
        return list(injected)
    return list(injected[point.pruned_injected :])


class Discard(msgspec.Struct):
    """A trim point that took single segments out of the context, or masked them, and moved no
    boundary.

    All mappings are by turn id: `positions` are the positions of the discarded raw items, `entries`
    the ids of the discarded entries, and `messages` the number of prompts and answers among these.
    `masks` are the positions of the masked raw items with their ids in the history, `masked` the
    ids of the masked entries. `entry_ids` and `masked_entry_ids` are the ids under which clients
    know the entries. `used_tokens` is the reported size of the context before a mask, or 0.
    `turn_index` and `entry_index` are the numbers of turns and entries that the thread had at that
    time. `summary` stands in the place of what was discarded, for `summarized_messages` messages.
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
    masked_entry_ids: tuple[str, ...] = ()
    masks: dict[str, dict[int, str]] = {}
    masked: dict[str, tuple[str, ...]] = {}
    used_tokens: int = 0
    summary: str | None = None
    summarized_messages: int = 0


Boundary = TrimPoint | Discard


class UndoneTrim(msgspec.Struct):
    """A trim that was undone: `point` or `discard` holds it, and the other one is None.

    It was in force from its own generation up to the one before `undone_in`; the provider threads
    of these generations hold the trimmed context.
    """

    point: TrimPoint | None
    discard: Discard | None
    undone_in: int

    @property
    def boundary(self) -> Boundary:
        """Returns the trim that was undone."""
        boundary = self.point or self.discard
        assert boundary is not None
        return boundary


def undone_trim(boundary: Boundary, undone_in: int) -> UndoneTrim:
    """Returns a trim as it is kept once generation `undone_in` has undone it."""
    if isinstance(boundary, TrimPoint):
        return UndoneTrim(boundary, None, undone_in)
    return UndoneTrim(None, boundary, undone_in)


class Handoff(msgspec.Struct, frozen=True):
    """A thread that was begun with a brief of this one, for the `goal`."""

    thread_id: str
    brief: str
    goal: str | None
    created_at_ms: int


class Pin(msgspec.Struct, frozen=True):
    """A part of the context that no trim removes: the turn `turn_id`, or a note if that is None.
    `place` is the turn's position in the ledger, or that of the turn before which the note stands:
    the number of turns that the thread had when the note was made, at most those that a revert has
    left.
    """

    id: str
    turn_id: str | None
    note: str
    created_at_ms: int
    place: int
