"""Reads a `compacted` row, and derives its trigger and tokens from the rows around it. Pure."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from trimpoint_protocol import unified as u
from trimpoint_protocol.lenient import as_list

from trimpoint.sessionlogs.codex.items import (
    OWN_SUMMARY,
    SUMMARY_PREFACE,
    kind_of_message,
    text_of,
)
from trimpoint.sessionlogs.codex.rows import Compacted, Item
from trimpoint.sessionlogs.made_ids import made_id
from trimpoint.sessionlogs.text.lenient import convert_or_none

# What Codex writes anew into each replacement, beside the summary.
WRITTEN_ANEW = ("preamble", "notice")
# Codex keeps so much of the newest prompts.
MAX_KEPT_TOKENS = 20_000
ROLLED_BACK = (
    "A rollback went back behind a compaction; its model may have been sent parts of that."
)
SEALED = ("compaction", "compaction_summary")
Phase = Literal["standalone_turn", "pre_turn", "mid_turn"]


def replacement_of(compacted: Compacted) -> list[Item] | None:
    """Returns the items that replace the context; None if the row does not list them."""
    if compacted.replacement_history is not None:
        return compacted.replacement_history
    if compacted.replacement_history_entries is None:
        return None
    return [
        entry.item if entry.item is not None else Item(type="reference", id=entry.item_id)
        for entry in compacted.replacement_history_entries
    ]


def is_boundary(compacted: Compacted) -> bool:
    """Returns whether the row belongs to the model's history; some rows belong to a guardian's."""
    return bool(compacted.message) or replacement_of(compacted) is not None


def keeps_prompts(compacted: Compacted) -> bool:
    """Returns whether the prompts stay although the row does not list them, as in versions whose
    summary has a preface and no replacement (driven: 0.63 to 0.98).
    """
    message = compacted.message or ""
    return replacement_of(compacted) is None and message.startswith(SUMMARY_PREFACE)


def owns_newest_count(compacted: Compacted, summary: str | None) -> bool:
    """Returns whether the newest count is that of the compaction's own answer, as in versions that
    do not name the answer; one with a sealed summary is not counted.
    """
    return summary is not None and compacted.compaction_response_id is None


def only_in_replacement(items: list[Item], matches: list[int | None]) -> Iterator[Item]:
    """Yields the messages of the replacement that are not in the log elsewhere."""
    for item, index in zip(items, matches, strict=True):
        if index is not None or item.type == "reference":
            continue
        if item.type != "message" or kind_of_message(item) not in WRITTEN_ANEW:
            yield item


def without_own_summary(items: list[Item]) -> list[Item]:
    """Returns the replacement without the summary that the compaction itself wrote, which is the
    last one. An older one that Codex kept, because it did not know its preface, is a message.
    """
    own = next((at for at in range(len(items) - 1, -1, -1) if _is_summary(items[at])), None)
    return items if own is None else [*items[:own], *items[own + 1 :]]


def summary_of(compacted: Compacted) -> tuple[str | None, bool]:
    """Returns the summary, and whether there is one that cannot be decrypted."""
    text = compacted.message or ""
    if not text:
        summaries = list(filter(_is_summary, replacement_of(compacted) or []))
        if summaries and summaries[-1].type in SEALED:
            return None, True
        text = text_of(summaries[-1].content) if summaries else ""
    return (_without_preface(text), False) if text else (None, False)


def _is_summary(item: Item) -> bool:
    """Returns whether a compaction wrote the item; `OWN_SUMMARY` is what was given to a thread."""
    if item.type != "message" or kind_of_message(item) != "summary":
        return item.type in SEALED
    return not text_of(item.content).lstrip().startswith(OWN_SUMMARY)


def _without_preface(text: str) -> str:
    return text.partition("\n")[2] if text.startswith(SUMMARY_PREFACE) else text


def id_of(compacted: Compacted, session_id: str, place: int) -> str:
    """Returns the id of a boundary: that of the row, or one made from the session and the
    position.
    """
    if isinstance(compacted.window_id, str) and compacted.window_id:
        return compacted.window_id
    return compacted.compaction_response_id or made_id(session_id, place)


class Turn:
    """The part of the current turn that explains a compaction in it."""

    def __init__(self, *, started: bool, attributed: bool) -> None:
        self.started = started
        self.attributed = attributed
        self.has_prompt = False


class PendingBoundary:
    """A boundary whose members are not all known yet."""

    def __init__(self, members: dict[str, Any]) -> None:
        self.members = members
        self.trigger: u.Trigger | None = None
        self.phase: Phase | None = None
        self.post_tokens: int | None = None
        self.decided = False

    def decide(self, trigger: u.Trigger | None, phase: Phase | None) -> None:
        """Sets the trigger and the phase of the compaction, once; None for unknown."""
        if not self.decided:
            self.trigger, self.phase, self.decided = trigger, phase, True

    def record(self) -> u.BoundaryRecord:
        """Returns the record with everything that is known."""
        return u.BoundaryRecord(
            **self.members,
            trigger=self.trigger,
            trigger_source="turn_shape" if self.trigger is not None else None,
            phase=self.phase,
            post_tokens=self.post_tokens,
            post_tokens_estimated=self.post_tokens is not None,
        )


def note_message(kind: str, role: str | None, turn: Turn, pending: PendingBoundary | None) -> None:
    """Notes a message of a turn, by which the trigger of a boundary before it may be known."""
    if kind == "prompt":
        turn.has_prompt = True
        if pending is not None:
            pending.decide(*(("auto", "pre_turn") if turn.started else (None, None)))
    elif pending is not None and not turn.started and role != "user" and kind != "preamble":
        pending.decide("auto", "mid_turn")


class TokenCounts:
    """The newest counts of the context, each with the model's answer that it followed."""

    def __init__(self) -> None:
        self._newest: list[tuple[int, str | None, bool]] = []
        self._response_id: str | None = None
        self._after_reply = False

    def answered(self, response_id: str | None) -> None:
        """Records an answer of the model."""
        self._response_id = response_id

    def summarized(self) -> None:
        """Records that the model's answer was the summary."""
        self._after_reply = True

    def item(self) -> None:
        """Records an item of any other kind."""
        self._after_reply = False

    def add(self, total: int) -> None:
        """Adds a count of `total` tokens that Codex has written."""
        self._newest.append((total, self._response_id, self._after_reply))
        del self._newest[:-8]

    def before_compaction(self, response_id: str | None, *, own_is_newest: bool) -> int | None:
        """Returns the newest count that does not include the compaction's own answer.

        :param own_is_newest: whether the version does not name the compaction's answer.
        """
        self._after_reply = False
        if own_is_newest and len(self._newest) > 1 and not self._newest[-1][2]:
            return self._newest[-2][0]
        for total, counted, after_reply in reversed(self._newest):
            own = counted == response_id if response_id is not None else after_reply
            if not own:
                return total
        return None


def convert_compacted(payload: msgspec.Raw) -> Compacted:
    """Decodes the payload of a `compacted` row. Members of an unknown form are left out.

    :raises msgspec.MsgspecError: when it is not an object.
    """
    try:
        return _decode(payload)
    except msgspec.ValidationError:
        found = msgspec.json.decode(payload, type=dict[str, Any])
    items = found.get("replacement_history")
    known = [convert_or_none(item, Item) for item in as_list(items)] if items else None
    response_id = found.get("compaction_response_id")
    return Compacted(
        message=found["message"] if isinstance(found.get("message"), str) else None,
        replacement_history=[item for item in known if item is not None]
        if known is not None
        else None,
        window_id=found.get("window_id"),
        compaction_response_id=response_id if isinstance(response_id, str) else None,
    )


_decode = msgspec.json.Decoder(Compacted).decode
