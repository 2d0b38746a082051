"""Applies the events of prompts, entries, raw items and ends of turns."""

from collections.abc import Sequence

from trimpoint.core.context.provider_compactions import ASKED_FOR, is_own_compaction
from trimpoint.core.evolve.compaction_attempts import note_turn_end
from trimpoint.core.evolve.queue_folds import note_read, note_sending
from trimpoint.core.evolve.usage_folds import (
    note_overflow,
    weigh_injected,
)
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Entry, TrimPoint, Turn
from trimpoint.core.model.state import Pending, ThreadState

_OUTPUT = b"_call_output"
_TYPE_WITHIN = 200


def request_turn(state: ThreadState, event: ev.TurnRequested, at_ms: int) -> None:
    """Records that a turn was requested."""
    state.turn_requests[event.request_id] = Pending(event.request_id, "turn", at_ms)
    note_sending(state, event.request_id)


def end_turn_request(state: ThreadState, event: ev.TurnRequestEnded, at_ms: int) -> None:
    """Ends the request for a turn. If Codex accepted it, the thread stays busy until the turn
    starts.
    """
    answered = state.turn_requests.pop(event.request_id, None)
    state.may_have_missed |= event.turn_id is None
    if answered is not None and event.turn_id is not None and event.turn_id not in state.turn_index:
        state.turn_requests[event.turn_id] = Pending(event.turn_id, "turn", answered.since_ms)


def start_turn(state: ThreadState, event: ev.TurnStarted, at_ms: int) -> None:
    """Adds the turn to the ledger as the running one."""
    state.turn_requests.pop(event.turn_id, None)
    state.turn_index[event.turn_id] = len(state.turns)
    turn = Turn(event.turn_id, event.generation, at_ms, len(state.entries))
    turn.injected_before, state.injected_before_next = state.injected_before_next, []
    state.turns.append(turn)
    state.running_turn_id, state.hold = event.turn_id, None
    state.generations[event.generation - 1].turn_count += 1
    state.redoable = 0


def record_entry(state: ThreadState, event: ev.EntryRecorded, at_ms: int) -> None:
    """Adds an entry to its turn and updates the counts of messages and compactions."""
    entry = Entry(
        event.entry_id,
        event.turn_id,
        event.kind,
        event.role,
        event.text,
        at_ms,
        event.detail,
        event.extent == ev.PART,
    )
    index = state.turn_index[event.turn_id]
    if event.client_id:
        note_read(state, event.client_id, event.turn_id)
    if event.role == "user" and event.turn_id == state.running_turn_id:
        state.begun_with = None
    if entry.is_message_of_model:
        state.turns[index].message_count += 1
        state.message_count += 1
        state.active_messages += index >= state.active_from_turn
    elif is_own_compaction(entry):
        state.provider_compaction_count += 1
        if entry.text == ASKED_FOR:
            made_in = state.generation.number
            state.compacted_behind = {**state.compacted_behind, entry.turn_id: made_in}
        else:
            state.compacted_in.append(entry.turn_id)
    if event.extent == ev.REST:
        _complete_entry(state, entry, index)
        return
    known_in = state.entry_turns.get(entry.id, index)
    if known_in != index:
        state.repeated_ids |= {entry.id}
    state.entry_turns[entry.id] = max(known_in, index)
    if index == len(state.turns) - 1 and index >= state.active_from_turn:
        state.entries.append(entry)
    else:
        _file_late_entry(state, entry, index)
    for discard in state.discards:
        discard.entry_index += discard.turn_index > index


def _complete_entry(state: ThreadState, entry: Entry, turn_index: int) -> None:
    """Puts a finished entry in the place of its part."""
    first = state.turns[turn_index].first_entry_index
    places = range(first, state.entries_end(turn_index))
    at = next(place for place in places if state.entries[place].id == entry.id)
    entry.created_at_ms = state.entries[at].created_at_ms
    state.entries[at] = entry
    _count_as_pruned(state, entry, turn_index)


def _file_late_entry(state: ThreadState, entry: Entry, turn_index: int) -> None:
    """Inserts an entry at the end of its turn although later turns or a trim came after it.

    A command that runs longer than its turn is reported when it ends (measured: codex 0.163). The
    entries of a turn must stay together, because positions decide what is pruned.
    """
    at = state.entries_end(turn_index)
    state.entries.insert(at, entry)
    for later in state.turns[turn_index + 1 :]:
        later.first_entry_index += 1
    for point in _points_behind(state, turn_index):
        point.entry_index += 1
        point.before_entry_id = state.entries[point.entry_index - 1].id
    _count_as_pruned(state, entry, turn_index)


def _points_behind(state: ThreadState, turn_index: int) -> list[TrimPoint]:
    return [point for point in state.trim_points if point.turn_index > turn_index]


def _count_as_pruned(state: ThreadState, entry: Entry, turn_index: int) -> None:
    """Counts a message of a turn that was pruned before the message was recorded."""
    passed = _points_behind(state, turn_index)
    if passed and entry.is_message_of_model:
        passed[0].pruned_message_count += 1


def record_items(state: ThreadState, event: ev.ContextItemsRecorded, at_ms: int) -> None:
    """Appends raw items to the turn, or replaces its items by those of the rollout. The list of a
    turn that is not the newest is never changed, because copies of the state share it.
    """
    index = state.turn_index[event.turn_id]
    turn = state.turns[index]
    if event.source == "rollout":
        turn.items, turn.items_complete = [*turn.items[: turn.earlier_items], *event.items], True
        turn.injected, turn.injected_apart = event.injected, []
        turn.output_bytes = _output_bytes(turn.items)
    else:
        if index == len(state.turns) - 1:
            turn.items.extend(event.items)
        else:
            turn.items = [*turn.items, *event.items]
        turn.injected += event.injected
        turn.output_bytes += _output_bytes(event.items)
        weigh_injected(state, event.items)


def _output_bytes(items: Sequence[bytes]) -> int:
    """Returns the size of the tool output among raw items. Their type is one of the first members,
    so that the items need not be decoded.
    """
    return sum(len(item) for item in items if _OUTPUT in item[:_TYPE_WITHIN])


def inject_items(state: ThreadState, event: ev.ItemsInjected, at_ms: int) -> None:
    state.injected_before_next = [*state.injected_before_next, *event.items]
    weigh_injected(state, event.items)


def complete_turn(state: ThreadState, event: ev.TurnCompleted, at_ms: int) -> None:
    """Ends the turn and records whether its raw items are complete."""
    turn = state.turns[state.turn_index[event.turn_id]]
    turn.status, turn.error, turn.completed_at_ms = event.status, event.error, at_ms
    turn.error_kind = event.error_kind
    if event.error_kind == ev.CONTEXT_WINDOW_EXCEEDED:
        note_overflow(state, turn)
    if state.running_turn_id == event.turn_id:
        state.running_turn_id = state.begun_with = None
        note_turn_end(state)
    state.may_have_missed |= event.status == "interrupted" and not event.items_heard
    if event.items_heard and state.generations[turn.generation - 1].raw_events:
        turn.items_complete = True


def open_request(state: ThreadState, event: ev.RequestOpened, at_ms: int) -> None:
    """Records a request of Codex that waits for an answer."""
    state.pending_requests[event.request_id] = Pending(event.request_id, event.method, at_ms)


def close_request(state: ThreadState, event: ev.RequestClosed, at_ms: int) -> None:
    """Removes a request of Codex, and records whether its answer holds until the session ends."""
    state.pending_requests.pop(event.request_id, None)
    state.generation.session_approvals |= event.outcome == ev.ACCEPTED_FOR_SESSION
