"""Codex's rollout files, read: raw items of turns, and what a compaction wrote. Pure over lines; one function opens the file.

A rollout is JSON lines `{type, payload}` (measured: codex 0.163 and 0.171). `response_item` is an item the model saw;
`task_started` begins a turn and names it; `compacted` is the outcome of a compaction.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from trimpoint.core.context.active_context import is_preamble, message_text
from trimpoint.core.model.lenient import as_dict, as_list

# The label Codex puts on what the model answers to its compaction prompt (measured: 0.163, 0.171).
COMPACTION_OUTPUT = "compaction_output"


class _Line(msgspec.Struct, frozen=True):
    type: str
    payload: msgspec.Raw = msgspec.Raw(b"null")
    metadata: msgspec.Raw = msgspec.Raw(b"null")


_decode_line = msgspec.json.Decoder(_Line).decode


def rollout_lines(path: str) -> list[bytes]:
    """The lines of the rollout at `path`, or where Codex puts it when the thread is archived; empty when it is gone. Blocking.

    A line without its newline is still being written and is left out.
    """
    for candidate in _places(Path(path)):
        try:
            data = candidate.read_bytes()
        except OSError:
            continue
        return data[: data.rfind(b"\n") + 1].splitlines()
    return []


def whole_conversation(path: str) -> list[bytes]:
    """`rollout_lines`, with what a fork only refers to put before them. Blocking.

    A fork's rollout names its origin and how much of it is shared (measured: 0.163); older ones copy it instead.
    """
    lines = rollout_lines(path)
    origin = _origin_of(lines[:1])
    if origin is None:
        return lines
    origin_path = _path_of_thread(Path(path), origin.forked_from_id)
    shared = whole_conversation(origin_path) if origin_path is not None else []
    return [*(line for line in shared if _ordinal(line) < origin.forked_from_ordinal_exclusive), *lines]


class _Origin(msgspec.Struct, frozen=True):
    forked_from_id: str
    forked_from_ordinal_exclusive: int


class _Ordinal(msgspec.Struct, frozen=True):
    ordinal: int = 0


def _origin_of(first_lines: list[bytes]) -> _Origin | None:
    try:
        return msgspec.json.decode(_decode_line(first_lines[0]).payload, type=_Origin)
    except (IndexError, msgspec.MsgspecError):
        return None


def _ordinal(line: bytes) -> int:
    try:
        return msgspec.json.decode(line, type=_Ordinal).ordinal
    except msgspec.MsgspecError:
        return 0


def _path_of_thread(beside: Path, thread_id: str) -> str | None:
    home = _codex_home(beside)
    if home is None:
        return None
    name = f"rollout-*-{thread_id}.jsonl"
    found = next(iter((*home.glob(f"sessions/*/*/*/{name}"), *home.glob(f"archived_sessions/{name}"))), None)
    return str(found) if found is not None else None


def _codex_home(path: Path) -> Path | None:
    for folder in path.parents:
        if folder.name in ("sessions", "archived_sessions"):
            return folder.parent
    return None


def _places(path: Path) -> Iterator[Path]:
    yield path
    if (home := _codex_home(path)) is not None:
        yield home / "archived_sessions" / path.name


def items_by_turn(lines: Iterable[bytes]) -> dict[str, list[bytes]]:
    """Each turn's items as the model saw them, by turn id, in order; without preamble and what was answered to a compaction."""
    items: dict[str, list[bytes]] = {}
    current: str | None = None
    for line in _records(lines):
        payload = msgspec.json.decode(line.payload)
        if line.type == "event_msg" and payload.get("type") == "task_started":
            current = _turn_id(payload)
            items.setdefault(str(current), [])
        elif line.type == "response_item" and current is not None and not (is_preamble(payload) or _answers_compaction(line)):
            items[str(current)].append(bytes(line.payload))
    return items


def _answers_compaction(line: _Line) -> bool:
    return bool(as_dict(msgspec.json.decode(line.metadata)).get(COMPACTION_OUTPUT))


def since_compaction(lines: Iterable[bytes]) -> tuple[list[bytes], dict[str, int]] | None:
    """What the newest compaction put in place of the context, and how many items each turn has added since; None without one.

    A compaction that does not say what it put there, as those of old versions, counts as none.
    """
    replacement: list[bytes] | None = None
    since: dict[str, int] = {}
    current = ""
    for line in _records(lines):
        payload = msgspec.json.decode(line.payload)
        if line.type == "event_msg" and payload.get("type") == "task_started":
            current = str(_turn_id(payload))
        elif line.type == "compacted":
            history = as_list(payload.get("replacement_history"))
            replacement, since = (
                ([msgspec.json.encode(item) for item in history if not is_preamble(item)] if history else None),
                {},
            )
        elif line.type == "response_item" and not is_preamble(payload):
            since[current] = since.get(current, 0) + 1
    return None if replacement is None else (replacement, since)


def compaction_summary(lines: Iterable[bytes], compaction_turn_id: str) -> str | None:
    """The text a model answered to the inline compaction of this turn; "" when it answered nothing, None when it was sealed.

    Codex takes the previous assistant message for the summary when the model's answer is empty (measured), so only what was
    answered in the compaction's own turn counts.
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
    """The summary in a `compacted` record of a Codex that does not record the model's answer by itself (measured: 0.133).

    It stands behind a fixed preface, one line long. Such a Codex copies the whole conversation into a fork's rollout, so that an
    answer that was empty shows as the previous one taken for it.
    """
    summary = outcome.partition("\n")[2].strip()
    return summary if previous_answer and summary != previous_answer.strip() else ""


def _records(lines: Iterable[bytes]) -> Iterator[_Line]:
    for line in lines:
        try:
            record = _decode_line(line)
        except msgspec.MsgspecError:
            continue  # a record of a kind not known here, or damage: the rest is still good
        if record.type in ("event_msg", "response_item", "compacted"):
            yield record


def _turn_id(payload: dict[str, Any]) -> str | None:
    attribution = as_dict(payload.get("turn_attribution"))
    turn_id = payload.get("turn_id") or attribution.get("turn_id")
    return str(turn_id) if turn_id else None
