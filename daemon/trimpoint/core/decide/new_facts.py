"""Selects the reported facts that are new to a thread.

Codex repeats reports after a resume, and facts arrive in batches: each fact is checked against the
state and the facts before it in the batch. Raw items have no id, so they are always new if their
turn is known. Usage belongs to the present session, whatever turn it is reported with.
"""

from collections.abc import Iterable

import msgspec
from trimpoint_protocol.lenient import as_dict

from trimpoint.core.model import events as ev
from trimpoint.core.model.reviews import ITEM_METADATA, is_in_review
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import is_repetition

CUT_SHORT = frozenset({"interrupted", "failed"})

# The changes of the facts so far in a batch: (kind, id) -> whether the thread then has it.
_Overlay = dict[tuple[str, str], bool]


def new_facts(state: ThreadState, facts: Iterable[ev.AnyEvent]) -> tuple[ev.AnyEvent, ...]:
    """Returns those of `facts` that are new to `state`, in order. Facts of unknown turns or
    requests are dropped.
    """
    overlay: _Overlay = {}
    fresh: list[ev.AnyEvent] = []
    for reported in facts:
        fact = _with_own_turn_id(state, reported) if state.turn_aliases else reported
        if isinstance(fact, ev.EntryRecorded) and _completes_part(state, overlay, fact):
            fact = msgspec.structs.replace(fact, extent=ev.REST)
        if _is_new(state, overlay, fact):
            overlay.update(_changes(fact))
            fresh.append(fact)
    return tuple(fresh)


def _with_own_turn_id(state: ThreadState, fact: ev.AnyEvent) -> ev.AnyEvent:
    """Returns the fact with Codex's id of a repeated turn replaced by the thread's own id of that
    turn.
    """
    turn_id = state.turn_aliases.get(getattr(fact, "turn_id", None) or "")
    return fact if turn_id is None else msgspec.structs.replace(fact, turn_id=turn_id)


def _is_new(state: ThreadState, overlay: _Overlay, fact: ev.AnyEvent) -> bool:
    match fact:
        case ev.TurnStarted():
            return not _has_turn(state, overlay, fact.turn_id) and not is_in_review(state)
        case ev.EntryRecorded(extent=ev.REST):
            return True
        case ev.EntryRecorded():
            return _has_turn(state, overlay, fact.turn_id) and not _has_entry(state, overlay, fact)
        case ev.ContextItemsRecorded():
            return _has_turn(state, overlay, fact.turn_id) and not _belong_to_reviewer(state, fact)
        case ev.UsageReported():
            return overlay.get(("usage", ""), not is_repetition(state.usage, fact))
        case ev.TurnCompleted():
            return overlay.get(("running turn", fact.turn_id), _is_running(state, fact.turn_id))
        case ev.TurnRequestEnded():
            return overlay.get(
                ("turn request", fact.request_id), fact.request_id in state.turn_requests
            )
        case ev.RequestOpened():
            return not overlay.get(
                ("request", fact.request_id), fact.request_id in state.pending_requests
            )
        case ev.RequestClosed():
            return overlay.get(
                ("request", fact.request_id), fact.request_id in state.pending_requests
            )
        case ev.SettingsChanged():
            return overlay.get(("settings", ""), fact.settings != state.settings)
        case ev.ThreadRenamed():
            is_new = fact.name != state.name or state.name_unconfirmed
            return overlay.get(("name", ""), is_new)
        case ev.NameConfirmed():
            return state.name_unconfirmed and fact.name == state.name
        case _:
            return True


def _belong_to_reviewer(state: ThreadState, fact: ev.ContextItemsRecorded) -> bool:
    """Returns whether these are items of a reviewer's turn. The thread's model never sees them, but
    Codex reports them with the id of the review (measured: codex 0.163).
    """
    if fact.source == "rollout" or fact.turn_id != state.running_turn_id or not is_in_review(state):
        return False
    items = map(as_dict, map(msgspec.json.decode, fact.items))
    turn_ids = {as_dict(item.get(ITEM_METADATA)).get("turn_id") for item in items}
    return turn_ids != {fact.turn_id}


def _changes(fact: ev.AnyEvent) -> _Overlay:
    match fact:
        case ev.TurnStarted():
            return {("turn", fact.turn_id): True, ("running turn", fact.turn_id): True}
        case ev.UsageReported():
            return {("usage", ""): True}
        case ev.EntryRecorded():
            return {("entry of " + fact.turn_id, fact.entry_id): True}
        case ev.TurnCompleted():
            return {("running turn", fact.turn_id): False}
        case ev.TurnRequested():
            return {("turn request", fact.request_id): True}
        case ev.TurnRequestEnded():
            return {("turn request", fact.request_id): False}
        case ev.RequestOpened():
            return {("request", fact.request_id): True}
        case ev.RequestClosed():
            return {("request", fact.request_id): False}
        case ev.SettingsChanged():
            return {("settings", ""): True}
        case ev.ThreadRenamed():
            return {("name", ""): True}
        case _:
            return {}


def _has_turn(state: ThreadState, overlay: _Overlay, turn_id: str) -> bool:
    return overlay.get(("turn", turn_id), turn_id in state.turn_index)


def _has_entry(state: ThreadState, overlay: _Overlay, fact: ev.EntryRecorded) -> bool:
    # Model providers number items and calls as they like (`call_0`): an id is unique only within
    # its turn.
    at = state.turn_index.get(fact.turn_id)
    known = at is not None and state.entry_turns.get(fact.entry_id) == at
    return overlay.get(("entry of " + fact.turn_id, fact.entry_id), known)


def _completes_part(state: ThreadState, overlay: _Overlay, fact: ev.EntryRecorded) -> bool:
    """Returns whether the thread has only a part of this finished entry, from before the turn
    ended.
    """
    index = state.turn_index.get(fact.turn_id)
    if fact.extent or index is None or state.turns[index].status not in CUT_SHORT:
        return False
    if ("entry of " + fact.turn_id, fact.entry_id) in overlay:
        return False
    entries = state.entries_of(state.turns[index])
    return any(entry.is_part and entry.id == fact.entry_id for entry in entries)


def _is_running(state: ThreadState, turn_id: str) -> bool:
    at = state.turn_index.get(turn_id)
    return at is not None and state.turns[at].status == "running"
