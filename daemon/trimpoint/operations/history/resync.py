"""Finds turns that Codex ran without the daemon: those that were running when a daemon or Codex
ended, and those of other programs.

They are read when the session is loaded again, so that the ledger agrees with the model's context.
A person may have continued the thread with `codex exec resume` or the terminal UI, compacted it
there, or taken turns back.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

import anyio.to_thread
import msgspec
import structlog
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.codex.appserver.errors import ProviderError, RolloutCut
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.history.rollout import (
    NO_ITEMS,
    TurnItems,
    has_end_of_turn,
    has_turns,
    injected_after_turn,
    injected_before_turns,
    items_of_turns,
)
from trimpoint.codex.history.rollout_files import conversation_lines, lines_of_thread
from trimpoint.codex.notifications.translate import entry_of
from trimpoint.core.context.active_context import INTERRUPTION, message_text
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.context.injections import injection
from trimpoint.core.context.provider_compactions import ASKED_FOR
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import Generation, ThreadState
from trimpoint.operations.history.adoption import (
    compaction_facts,
    is_reviewers,
    only_compacts,
    turn_facts,
)
from trimpoint.threads.off_loop import off_loop

log = structlog.get_logger()

# The number of turns to read first, and the size of further pages.
GLANCE, PAGE = 1, 25

ListedTurn = dict[str, Any]


class Missed(NamedTuple):
    """The differences between a provider thread and the ledger.

    `facts` are those of turns that the ledger lacks wholly or in part, oldest first; some may be
    known already. `new_turns` tells whether Codex has turns that are not in the ledger at all.
    `taken_back` is the first turn that Codex no longer has, or None. `is_cut`: Codex has lost what
    the ledger has, so that the model does not know it.
    """

    facts: tuple[ev.AnyEvent, ...] = ()
    new_turns: bool = False
    taken_back: str | None = None
    is_cut: bool = False

    @property
    def is_anything(self) -> bool:
        """Returns whether another program continued the thread."""
        return self.new_turns or self.taken_back is not None


async def catch_up(
    link: CodexLink, state: ThreadState, generation: Generation, *, only_ended: bool = False
) -> Missed:
    """Compares Codex's turns of a provider thread with the ledger's, from the newest back to a turn
    that both have, and returns the differences.

    With `only_ended`, a running turn is left out, because another program that has the thread open
    may be working on it. If Codex refuses to list turns, there are no differences.

    :raises ProviderFailure: when Codex has ended or does not answer.
    """
    try:
        injected, is_cut = await _injected_elsewhere(state, generation), False
    except RolloutCut:
        injected, is_cut = (), True
    try:
        newest_first, meeting = await _unknown_turns(link, state, generation)
    except ProviderError as error:
        log.info("missed_turns_not_listed", thread_id=state.id, detail=error.message)
        return Missed(injected, is_cut=is_cut)
    missed = [
        turn
        for turn in newest_first[::-1]
        if not (only_ended and turn.get("status") == "inProgress")
    ]
    new_turns = any(_known(state, turn) is None for turn in missed)
    for turn in missed:
        _drop_prompt_sent_again(state, turn)
        _name_as_known(state, turn)
    await _add_unlisted_prompts(
        [turn for turn in missed if _is_silent(state, turn)], generation.rollout_path
    )
    told = [turn for turn in missed if turn.get("items")]
    facts = (*injected, *_facts(told, generation, _turn_before(state, meeting)))
    taken_back = None if is_cut else _taken_back(state, missed, meeting)
    return Missed(facts, new_turns and bool(told), taken_back, is_cut)


def _facts(
    turns: list[ListedTurn], generation: Generation, before: str | None
) -> Iterator[ev.AnyEvent]:
    for turn in turns:
        if before is not None and only_compacts(turn):
            yield from compaction_facts(turn, before)
        else:
            yield from turn_facts(turn, generation.number, NO_ITEMS)
            before = str(turn["id"])


def _turn_before(state: ThreadState, meeting: ListedTurn | None) -> str | None:
    """Returns the turn of the context that comes before those that the ledger lacks, or None."""
    known = _known(state, meeting) if meeting is not None else None
    at = len(state.turns) - 1 if known is None else known
    return state.turns[at].id if at >= state.active_from_turn else None


async def _injected_elsewhere(
    state: ThreadState, generation: Generation
) -> tuple[ev.AnyEvent, ...]:
    """Returns what a provider thread holds before its first turn, or right after the newest turn of
    the ledger, and was not given by us: another program injected it, or a daemon died before it had
    acknowledged it.
    """
    last = state.turns[-1] if state.turns else None
    if generation.rollout_path is None:
        return ()
    if _shows_all_items(state, generation):
        known = await off_loop(state, conversation_items)
        found = await anyio.to_thread.run_sync(
            _injected_before, generation.rollout_path, len(known)
        )
    elif last is not None and _ended_in(last, generation):
        found = await anyio.to_thread.run_sync(
            _injected_after, generation.rollout_path, last.provider_turn_id or last.id
        )
        known = last.injected_items
        if state.injected_before_next:
            return ()
    else:
        return ()
    if len(found) <= len(known) or any(map(_differ, found, known)):
        return ()
    return injection(state, found[len(known) :])


def _injected_after(path: str, turn_id: str) -> list[bytes]:
    lines = conversation_lines(path)
    if lines and _has_id(turn_id) and not has_end_of_turn(lines, turn_id):
        # A turn that was taken back is still in one of the thread's files.
        of_thread = lines_of_thread(path)
        if of_thread is not None and not has_end_of_turn(of_thread, turn_id):
            raise RolloutCut
    return injected_after_turn(lines, turn_id)


def _has_id(turn_id: str) -> bool:
    """Returns whether Codex gave the turn an id. Those of an old rollout have none: it lists them
    by their lines, and their ends are not recorded (measured: 0.133 to 0.171).
    """
    with suppress(ValueError):
        return bool(UUID(turn_id))
    return False


def _injected_before(path: str, least: int) -> list[bytes]:
    lines = conversation_lines(path)
    found = injected_before_turns(lines)
    # Of a turn that was repeated, the ledger's newest items ran in this thread.
    if lines and len(found) < least and not has_turns(lines):
        raise RolloutCut
    return found


def _ended_in(turn: Turn, generation: Generation) -> bool:
    return (
        turn.generation == generation.number
        and turn.id not in generation.turn_ids
        and turn.status == "completed"
        and not turn.is_cut
    )


def _shows_all_items(state: ThreadState, generation: Generation) -> bool:
    """Returns whether all items of the context stand in the provider thread's own rollout, before
    any turn.
    """
    last = state.turns[-1] if state.turns else None
    if last is not None and last.generation == generation.number:
        return last.id in generation.turn_ids and generation.bootstrap != "provider"
    is_new = not state.turns and not state.trim_points
    return generation.bootstrap != "provider" or is_new


def _differ(first: bytes, second: bytes) -> bool:
    one, other = msgspec.json.decode(first), msgspec.json.decode(second)
    return (one.get("type"), message_text(one)) != (other.get("type"), message_text(other))


async def _unknown_turns(
    link: CodexLink, state: ThreadState, generation: Generation
) -> tuple[list[ListedTurn], ListedTurn | None]:
    """Returns Codex's turns that the ledger lacks wholly or in part, newest first, and the turn
    before them, or None.
    """
    unknown: list[ListedTurn] = []
    unknown_ids: set[str] = set()
    limit, cursor = (PAGE if state.may_have_missed else GLANCE), None
    while True:
        params = {"threadId": generation.provider_thread_id, "itemsView": "full", "limit": limit}
        page = msgspec.json.decode(
            await link.request(
                "thread/turns/list", {**params, "cursor": cursor} if cursor else params
            )
        )
        listed, cursor = as_list(page.get("data")), page.get("nextCursor")
        for place, turn in enumerate(listed):
            if is_reviewers(turn, state.turn_index) or is_reviewers(turn, unknown_ids):
                continue
            if _is_where_both_meet(state, generation, turn):
                older = listed[place:]
                again = _behind_a_gap(state, older, is_whole=not cursor)
                return [*unknown, *older[:again]], older[again] if again < len(older) else None
            unknown.append(turn)
            unknown_ids.add(str(turn["id"]))
        limit = PAGE
        if not cursor:
            return unknown, None


def _is_where_both_meet(state: ThreadState, generation: Generation, turn: ListedTurn) -> bool:
    known = _known(state, turn)
    if known is not None:
        return state.turns[known].status != "interrupted" or not state.may_have_missed
    # The turn of the compaction that made this provider thread. Older turns were copied with it,
    # and the thread's own turns are newer.
    was_compacted = (
        generation.bootstrap == "provider" and generation.number > 1 and generation.turn_count == 0
    )
    return was_compacted and _is_compaction(turn)


def _behind_a_gap(state: ThreadState, listed: list[ListedTurn], *, is_whole: bool) -> int:
    """Returns how many of the listed turns, the newest first, ran behind turns that Codex has no
    more: it carried out a revert that it had not answered, and turns that it had been sent ran
    then. `is_whole`: the list has all older turns.
    """
    if not state.may_have_missed:
        return 0
    places = [_known(state, turn) for turn in listed]
    there = {place for place in places if place is not None}
    if not there:
        return 0
    oldest, newest = min(there), max(there)
    between = range(_first_here(state) if is_whole else oldest, newest)
    gone = (at for at in between if at not in there and state.turns[at].status == "completed")
    first_gone = next(gone, newest)
    return sum(first_gone < newest and (one is None or one > first_gone) for one in places)


def _first_here(state: ThreadState, least: int = 0) -> int:
    """Returns the position of the first turn that ran in the present provider thread, which no
    inherited turn did; at least `least`.
    """
    number, elsewhere = state.generation.number, set(state.generation.turn_ids)
    at = len(state.turns)
    while at > least and state.turns[at - 1].generation == number:
        if state.turns[at - 1].id in elsewhere:
            break
        at -= 1
    return at


def _is_compaction(turn: ListedTurn) -> bool:
    kinds = {item.get("type") for item in as_list(turn.get("items"))}
    return "contextCompaction" in kinds and "userMessage" not in kinds


def _taken_back(
    state: ThreadState, missed: list[ListedTurn], meeting: ListedTurn | None
) -> str | None:
    """Returns the first turn that ran in the present provider thread and is no longer there, or
    None.

    Only completed turns count, because an interrupted one may never have been stored.
    """
    met = _known(state, meeting) if meeting is not None else None
    first = _first_here(state, 0 if met is None else met + 1)
    there = {_known(state, turn) for turn in missed}
    gone = (state.turns[at] for at in range(first, len(state.turns)) if at not in there)
    return next((turn.id for turn in gone if turn.status == "completed"), None)


def _known(state: ThreadState, turn: dict[str, Any]) -> int | None:
    """Returns the position of the turn in the ledger, or of the one that has a turn of Codex's own
    as its last entry; None if neither is there.
    """
    turn_id = str(turn["id"])
    at = state.place_of(turn_id)
    if at is not None and state.entries[at].text == ASKED_FOR:
        turn_id = state.entries[at].turn_id
    return state.turn_index.get(state.turn_aliases.get(turn_id, turn_id))


def _drop_prompt_sent_again(state: ThreadState, turn: dict[str, Any]) -> None:
    """Removes the prompt from a turn that was repeated after an overflow, because the ledger has it
    from the first time.
    """
    if str(turn["id"]) in state.turn_aliases:
        items = as_list(turn.get("items"))
        prompt = next((item for item in items if item.get("type") == "userMessage"), None)
        turn["items"] = [item for item in items if item is not prompt]


def _name_as_known(state: ThreadState, turn: dict[str, Any]) -> None:
    """Gives the items of a turn the ids that they have in the ledger: older versions number those
    that they list anew (measured: 0.133, 0.144).
    """
    at, items = _known(state, turn), [*map(as_dict, as_list(turn.get("items")))]
    if at is None:
        return
    listed = {str(item.get("id")) for item in items}
    unlisted: dict[tuple[str, str, str], list[str]] = {}
    for entry in state.entries_of(state.turns[at]):
        if entry.id not in listed:
            unlisted.setdefault((entry.kind, entry.role, entry.text), []).append(entry.id)
    for item in items:
        read = entry_of(str(turn["id"]), item, b"")
        same = unlisted.get((read.kind, read.role, read.text))
        if same and read.entry_id not in state.entry_turns:
            item["id"] = same.pop(0)


def _is_silent(state: ThreadState, turn: dict[str, Any]) -> bool:
    known = _known(state, turn)
    return not turn.get("items") and (known is None or state.turns[known].message_count == 0)


async def _add_unlisted_prompts(silent: list[dict[str, Any]], rollout_path: str | None) -> None:
    """Adds prompts from the rollout to turns for which Codex lists no items.

    Codex lists a prompt shortly after adding it to the context (measured: 0.163), and may end in
    between.
    """
    if not silent or rollout_path is None:
        return
    ids = {str(turn["id"]) for turn in silent}
    items = await anyio.to_thread.run_sync(_items_of, rollout_path, ids)
    for turn in silent:
        shown = map(msgspec.json.decode, items.get(str(turn["id"]), NO_ITEMS).own)
        turn["items"] = [_as_prompt(item) for item in shown if _is_prompt(item)]


def _items_of(path: str, turn_ids: set[str]) -> dict[str, TurnItems]:
    return items_of_turns(conversation_lines(path), turn_ids)


def _is_prompt(item: dict[str, Any]) -> bool:
    return item.get("role") == "user" and not message_text(item).startswith(INTERRUPTION)


def _as_prompt(item: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [
        {"type": "text", "text": message_text(item), "text_elements": []}
    ]
    return {
        "type": "userMessage",
        "id": item.get("id") or "prompt",
        "clientId": None,
        "content": content,
    }
