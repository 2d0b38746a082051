"""Finds the raw items of turns, and the results of compactions, in the lines of Codex's rollout
files. Pure functions; `rollout_files` reads the lines.

A rollout has one JSON object `{type, payload}` on each line (measured: codex 0.163 and 0.171).
`response_item` is a raw item; `task_started` begins a turn and names it; `compacted` is the result
of a compaction.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.context.active_context import (
    PREAMBLE_KINDS,
    PREAMBLE_ROLES,
    is_preamble,
    message_text,
)

# The label Codex puts on what the model answers to its compaction prompt (measured: 0.163, 0.171;
# 0.153 puts none).
COMPACTION_OUTPUT = "compaction_output"
TURN_ENDS = ("task_complete", "turn_aborted")


class _Line(msgspec.Struct, frozen=True):
    type: str
    payload: msgspec.Raw = msgspec.Raw(b"null")
    metadata: msgspec.Raw = msgspec.Raw(b"null")


_decode_line = msgspec.json.Decoder(_Line).decode


class _Kind(msgspec.Struct, frozen=True):
    """What decides whether a raw item has to be read whole."""

    type: Any = None
    role: Any = None


_decode_kind = msgspec.json.Decoder(_Kind).decode


class TurnItems(NamedTuple):
    """A turn's raw items, the items that a client injected after the turn had ended, and whether
    the file has that end.
    """

    own: list[bytes]
    injected: list[bytes]
    is_ended: bool = False


NO_ITEMS = TurnItems([], [])


def items_by_turn(lines: Iterable[bytes]) -> dict[str, TurnItems]:
    """Returns the raw items of each turn in order, by turn id, without the preamble and without
    answers to compactions.
    """
    found: dict[str, TurnItems] = {}
    current: list[bytes] | None = None
    has_labels = False
    for line in _records(lines):
        if line.type == "response_item":
            if current is None or _is_preamble(line.payload):
                continue
            if _answers_compaction(line):
                has_labels = True
            else:
                current.append(bytes(line.payload))
            continue
        payload, kind = _event(line)
        if kind == "task_started":
            current = found.setdefault(str(_turn_id(payload)), TurnItems([], [])).own
        elif kind in TURN_ENDS and found:
            current = _ended(found, _turn_id(payload)).injected
        elif line.type == "compacted" and current and not has_labels:
            _drop_summary(current, str(payload.get("message") or ""))
    return found


def items_of_turns(lines: Sequence[bytes], turn_ids: Collection[str]) -> dict[str, TurnItems]:
    """Returns the raw items of these turns, as `items_by_turn` does. Reads no more of the rollout
    than from the first of them on, if all begin there under their own ids.
    """
    left, at = set(turn_ids), len(lines)
    while left and at > 0:
        at -= 1
        if b'"task_started"' in lines[at]:
            for line in _records([lines[at]]):
                payload, kind = _event(line)
                left -= {str(_turn_id(payload))} if kind == "task_started" else set()
    found = items_by_turn(lines[at:])
    return {turn_id: found[turn_id] for turn_id in turn_ids if turn_id in found}


def _is_preamble(payload: msgspec.Raw) -> bool:
    """Returns whether a raw item is preamble. Only one that can be is read whole."""
    kind = _decode_kind(payload)
    may_be = kind.type in PREAMBLE_KINDS or (kind.type == "message" and kind.role in PREAMBLE_ROLES)
    return may_be and is_preamble(msgspec.json.decode(payload))


def _event(line: _Line) -> tuple[dict[str, Any], Any]:
    """Returns the payload and the kind of an event that begins or ends a turn, or of the result of
    a compaction. That of other events stays unread.
    """
    if line.type == "event_msg":
        kind = _decode_kind(line.payload).type
        is_limit = kind == "task_started" or kind in TURN_ENDS
        return (msgspec.json.decode(line.payload) if is_limit else {}), kind
    return (msgspec.json.decode(line.payload) if line.type == "compacted" else {}), None


def _drop_summary(items: list[bytes], outcome: str) -> None:
    """Removes the model's unlabelled answer to a compaction from the end of the items, with the
    reasoning before it.

    It is recognized because the compaction's result ends with the answer's text.
    """
    last = msgspec.json.decode(items[-1])
    text = message_text(last).strip() if last.get("role") == "assistant" else ""
    if not text or not outcome.rstrip().endswith(text):
        return
    items.pop()
    while items and msgspec.json.decode(items[-1]).get("type") == "reasoning":
        items.pop()


def _ended(found: dict[str, TurnItems], turn_id: str | None) -> TurnItems:
    """Returns the items of the turn that has ended. A review begins with the id of its reviewer's
    turn and ends with its own id (measured: 0.163).
    """
    begun = next(reversed(found))
    if turn_id is not None and turn_id not in found:
        found[turn_id] = found.pop(begun)
    ended = next(reversed(found))
    found[ended] = found[ended]._replace(is_ended=True)
    return found[ended]


def has_end_of_turn(lines: Sequence[bytes], turn_id: str) -> bool:
    """Returns whether the end of this turn is there."""
    name = turn_id.encode()
    ends = [f'"{kind}"'.encode() for kind in TURN_ENDS]
    return any(name in line and any(end in line for end in ends) for line in reversed(lines))


def has_turns(lines: Iterable[bytes]) -> bool:
    """Returns whether a turn has begun."""
    return any(b'"task_started"' in line for line in lines)


def injected_after_turn(lines: Sequence[bytes], turn_id: str) -> list[bytes]:
    """Returns the items that were injected after this turn and before the next one; empty if the
    turn is not there.
    """
    name = turn_id.encode()
    for index in range(len(lines) - 1, -1, -1):
        if name in lines[index] and b'"task_started"' in lines[index]:
            return items_by_turn(lines[index:]).get(turn_id, NO_ITEMS).injected
    return []


def injected_before_turns(lines: Iterable[bytes]) -> list[bytes]:
    """Returns the items that were injected into the conversation before its first turn."""
    injected: list[bytes] = []
    after_preamble = False
    for line in _records(lines):
        payload = msgspec.json.decode(line.payload)
        kind = payload.get("type") if line.type == "event_msg" else None
        if kind == "task_started" or line.type == "compacted":
            break
        # Codex writes the preamble of a thread that is given items first, and behind it what the
        # surroundings are (measured: 0.163, 0.171).
        after_preamble |= line.type == "turn_context"
        if line.type == "response_item" and (after_preamble or not is_preamble(payload)):
            injected.append(bytes(line.payload))
    return injected


class Ending(NamedTuple):
    """The injected items at the end of a conversation, and the id of the last turn before them, or
    None if there is no turn.
    """

    last_turn_id: str | None
    injected: list[bytes]


def lines_before_turn(lines: Sequence[bytes], turn_id: str) -> Sequence[bytes]:
    """Returns the lines before a turn; none where it is not found."""
    for at, line in enumerate(lines):
        for record in _records([line]) if turn_id.encode() in line else ():
            payload = msgspec.json.decode(record.payload)
            if payload.get("type") == "task_started" and _turn_id(payload) == turn_id:
                return lines[:at]
    return []


def injected_ending(lines: Sequence[bytes]) -> Ending | None:
    """Returns the injected items at the end of the conversation, or None if it ends with a turn."""
    injected: list[bytes] = []
    last_turn_id: str | None = None
    for line in _records(reversed(lines)):
        payload = msgspec.json.decode(line.payload)
        kind = payload.get("type") if line.type == "event_msg" else None
        if kind == "task_started" or line.type == "compacted":
            return None
        if kind in TURN_ENDS:
            last_turn_id = _turn_id(payload)
            break
        if line.type == "response_item" and not is_preamble(payload):
            injected.append(bytes(line.payload))
    found = injected[::-1] if last_turn_id is not None else injected_before_turns(lines)
    return Ending(last_turn_id, found) if found else None


def _answers_compaction(line: _Line) -> bool:
    return bool(as_dict(msgspec.json.decode(line.metadata)).get(COMPACTION_OUTPUT))


def since_compaction(lines: Iterable[bytes]) -> tuple[list[bytes], dict[str, int]] | None:
    """Returns the items that the newest compaction put in place of the context, and the number of
    items that each turn has added since. Returns None without a compaction.

    A compaction that does not record those items, as in old versions, does not count.
    """
    replacement: list[bytes] | None = None
    since: dict[str, int] = {}
    current = ""
    for line in _records(lines):
        payload = msgspec.json.decode(line.payload)
        kind = payload.get("type") if line.type == "event_msg" else None
        if kind == "task_started":
            current = str(_turn_id(payload))
        elif (
            kind in TURN_ENDS
            and (ended := _turn_id(payload)) not in (None, current)
            and current in since
        ):
            since[str(ended)] = since.pop(current)  # a review
        elif line.type == "compacted":
            history = as_list(payload.get("replacement_history"))
            replacement, since = (
                (
                    [msgspec.json.encode(item) for item in history if not is_preamble(item)]
                    if history
                    else None
                ),
                {},
            )
        elif line.type == "response_item" and not is_preamble(payload):
            since[current] = since.get(current, 0) + 1
    return None if replacement is None else (replacement, since)


def compaction_summary(lines: Iterable[bytes], compaction_turn_id: str) -> str | None:
    """Returns the summary that a model gave in this compaction turn, "" if it gave none, or None if
    it is sealed.

    If the model's answer is empty, Codex takes the assistant message before it for the summary
    (measured), so only answers in the compaction's own turn count.
    """
    current: str | None = None
    previous_answer, answer, outcome = "", "", None
    for line in _records(lines):
        payload = msgspec.json.decode(line.payload)
        if line.type == "event_msg" and payload.get("type") == "task_started":
            current = _turn_id(payload)
        elif line.type == "response_item" and payload.get("role") == "assistant":
            if current == compaction_turn_id:
                answer = message_text(payload)
            else:
                previous_answer = message_text(payload)
        elif line.type == "compacted" and current == compaction_turn_id:
            outcome = str(payload.get("message") or "")
    if outcome == "" and not answer:
        return None
    return answer.strip() or _unlabelled_summary(outcome or "", previous_answer)


def _unlabelled_summary(outcome: str, previous_answer: str) -> str:
    """Returns the summary in a `compacted` record of a Codex that does not record the model's
    answer (measured: 0.133).

    The summary follows a fixed first line. Such a Codex copies the whole conversation into a fork's
    rollout; if the summary equals the previous answer, the model's answer was empty.
    """
    summary = outcome.partition("\n")[2].strip()
    return summary if previous_answer and summary != previous_answer.strip() else ""


def _records(lines: Iterable[bytes]) -> Iterator[_Line]:
    for line in lines:
        try:
            record = _decode_line(line)
        except msgspec.MsgspecError:
            continue  # a record of a kind not known here, or damage: the rest is still good
        if record.type in ("event_msg", "response_item", "compacted", "turn_context"):
            yield record


def _turn_id(payload: dict[str, Any]) -> str | None:
    attribution = as_dict(payload.get("turn_attribution"))
    turn_id = payload.get("turn_id") or attribution.get("turn_id")
    return str(turn_id) if turn_id else None
