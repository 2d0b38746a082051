"""Raw items of turns, and what a compaction wrote, in the lines of Codex's rollout files. Pure;
`rollout_files` reads the lines.

A rollout is JSON lines `{type, payload}` (measured: codex 0.163 and 0.171). `response_item` is an
item the model saw; `task_started` begins a turn and names it; `compacted` is the outcome of a
compaction.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from trimpoint.core.context.active_context import is_preamble, message_text
from trimpoint.core.model.lenient import as_dict, as_list

# The label Codex puts on what the model answers to its compaction prompt (measured: 0.163, 0.171;
# 0.153 puts none).
COMPACTION_OUTPUT = "compaction_output"
TURN_ENDS = ("task_complete", "turn_aborted")


class _Line(msgspec.Struct, frozen=True):
    type: str
    payload: msgspec.Raw = msgspec.Raw(b"null")
    metadata: msgspec.Raw = msgspec.Raw(b"null")


_decode_line = msgspec.json.Decoder(_Line).decode


class TurnItems(NamedTuple):
    """A turn's items as the model saw them, and those that a client put there after the turn had
    ended.
    """

    own: list[bytes]
    injected: list[bytes]


NO_ITEMS = TurnItems([], [])


def items_by_turn(lines: Iterable[bytes]) -> dict[str, TurnItems]:
    """Returns each turn's items, by turn id, in order; without preamble and what was answered to a
    compaction.
    """
    found: dict[str, TurnItems] = {}
    current: list[bytes] | None = None
    has_labels = False
    for line in _records(lines):
        payload = msgspec.json.decode(line.payload)
        kind = payload.get("type") if line.type == "event_msg" else None
        if kind == "task_started":
            current = found.setdefault(str(_turn_id(payload)), TurnItems([], [])).own
        elif kind in TURN_ENDS and found:
            current = _ended(found, _turn_id(payload)).injected
        elif line.type == "compacted" and current and not has_labels:
            _drop_summary(current, str(payload.get("message") or ""))
        elif line.type == "response_item" and current is not None and not is_preamble(payload):
            if _answers_compaction(line):
                has_labels = True
            else:
                current.append(bytes(line.payload))
    return found


def _drop_summary(items: list[bytes], outcome: str) -> None:
    """Takes the model's answer to a compaction off the end of the items, where Codex does not label
    it: the outcome ends with its text. The model's reasoning stands before it.
    """
    last = msgspec.json.decode(items[-1])
    text = message_text(last).strip() if last.get("role") == "assistant" else ""
    if not text or not outcome.rstrip().endswith(text):
        return
    items.pop()
    while items and msgspec.json.decode(items[-1]).get("type") == "reasoning":
        items.pop()


def _ended(found: dict[str, TurnItems], turn_id: str | None) -> TurnItems:
    """Returns the turn that has ended. A review begins with the id of its reviewer's turn and ends
    with its own (measured: 0.163).
    """
    begun = next(reversed(found))
    if turn_id is not None and turn_id not in found:
        found[turn_id] = found.pop(begun)
    return found[next(reversed(found))]


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
    """The end of a conversation: items that were injected behind its last turn, the id of which is
    None when none ran.
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
    """Returns the injected items that the conversation ends with; None when it ends with a turn, or
    in one.
    """
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
    """Returns what the newest compaction put in place of the context, and how many items each turn
    added since; or None.

    A compaction that does not say what it put there, as those of old versions, counts as none.
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
    """Returns the text a model answered to the inline compaction of this turn; "" when it answered
    nothing, None when it was sealed.

    Codex takes the previous assistant message for the summary when the model's answer is empty
    (measured), so only what was answered in the compaction's own turn counts.
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

    It stands behind a fixed preface, one line long. Such a Codex copies the whole conversation into
    a fork's rollout, so that an answer that was empty shows as the previous one taken for it.
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
