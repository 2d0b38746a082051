"""The tools with which an agent lists and reduces its own context: their specifications and their
answers. Pure.

The agent's choice is checked at once, so that the agent can choose again, but discarded only after
its turn has ended: the model must not lose context while it answers.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.context.segment_kinds import SegmentKind
from trimpoint.core.context.segments import FOLLOW_UP_PREFIX, ContextSegment, context_segments
from trimpoint.core.decide.discarding import (
    discard_refusal,
    names_of,
    protection_reason,
    total_tokens,
)
from trimpoint.core.model.decision import DiscardPolicy, counted
from trimpoint.core.model.state import ThreadState

GET_MESSAGES: Final = "get_messages"
DISCARD_MESSAGES: Final = "discard_messages"
NAMES: Final = frozenset({GET_MESSAGES, DISCARD_MESSAGES})
# The listing itself takes up context. If there are more segments, the smallest are left out.
MAX_LISTED: Final = 300
PREVIEW_CHARS: Final = 60

SPECIFICATIONS: Final[tuple[dict[str, Any], ...]] = (
    {
        "type": "function",
        "name": GET_MESSAGES,
        "description": (
            "List what your context holds: each message or tool call with its result has a "
            "short_id, a preview, est_tokens, and, where "
            "it cannot be discarded, why it is protected. total_est_tokens is what all of it "
            "costs; when it is far above target_tokens, "
            "discard what you no longer need. Nothing changes."
        ),
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    {
        "type": "function",
        "name": DISCARD_MESSAGES,
        "description": (
            "Take messages out of your context for good, to make room. Choose single ones by the "
            "short_id that get_messages gave: first "
            "file reads you are done with, then one-off command output, quick checks, titles and "
            "old prompts that were dealt with. Never "
            "below floor_tokens. It is done when your turn has ended; a new turn then begins "
            "automatically in the reduced context, so end "
            "your turn and go on there."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "short_ids": {"type": "array", "items": {"type": "string"}, "minItems": 1}
            },
            "required": ["short_ids"],
            "additionalProperties": False,
        },
    },
)


class Answer(NamedTuple):
    """The answer of a tool, and whether the call succeeded."""

    text: str
    success: bool


class Choice(NamedTuple):
    """The entries that the agent chose to discard, by their qualified ids, and the answer to the
    tool call.
    """

    names: tuple[str, ...]
    answer: Answer


def listing(state: ThreadState, policy: DiscardPolicy, chosen: Sequence[str]) -> Answer:
    """Returns the answer of `get_messages` as JSON. Segments that are in `chosen` already are left
    out, and so are the smallest if there are more than `MAX_LISTED`.
    """
    segments = _left(state, chosen)
    costliest = {
        segment.short_id
        for segment in sorted(segments, key=lambda segment: -segment.tokens)[:MAX_LISTED]
    }
    omitted = [segment for segment in segments if segment.short_id not in costliest]
    answer: dict[str, Any] = {
        "messages": [_shown(segment) for segment in segments if segment.short_id in costliest],
        "total_est_tokens": total_tokens(segments),
        "target_tokens": policy.target_tokens,
        "floor_tokens": policy.floor_tokens,
    }
    if omitted:
        answer["omitted"] = {"count": len(omitted), "est_tokens": total_tokens(omitted)}
    if (refusal := discard_refusal(state)) is not None:
        answer["refusal"] = refusal.message
    return Answer(msgspec.json.encode(answer).decode(), success=True)


def choose(
    state: ThreadState, policy: DiscardPolicy, chosen: Sequence[str], arguments: Any
) -> Choice:
    """Returns the answer of `discard_messages` and the qualified ids of the chosen entries. If a
    segment is unknown or protected, or too little would be left, nothing is chosen.
    """
    if (refusal := discard_refusal(state)) is not None:
        return _refused(refusal.message)
    wanted = _short_ids(arguments)
    if not wanted:
        return _refused(f"{DISCARD_MESSAGES} takes short_ids, a list of what {GET_MESSAGES} gave.")
    segments = {segment.short_id: segment for segment in _left(state, chosen)}
    if unknown := [name for name in wanted if name not in segments]:
        return _refused(
            f"Nothing was discarded: your context holds no {', '.join(unknown)}. {GET_MESSAGES} "
            "says what there is."
        )
    picked = [segments[name] for name in wanted]
    if kept := [segment for segment in picked if segment.protected is not None]:
        reasons = "; ".join(f"{segment.short_id} {protection_reason(segment)}" for segment in kept)
        return _refused(f"Nothing was discarded, because some of it is protected: {reasons}.")
    left = total_tokens(segments.values()) - total_tokens(picked)
    if left < policy.floor_tokens:
        below = (
            f"about {left:,} tokens would be left, less than the floor of {policy.floor_tokens:,}"
        )
        return _refused(f"Nothing was discarded: {below}. Choose fewer.")
    going = (
        f"{counted(len(picked), 'message')} of about {total_tokens(picked):,} tokens will leave "
        "your context when this turn has ended"
    )
    text = f"{going}; about {left:,} stay. A new turn then begins automatically. End this turn now."
    return Choice(
        tuple(name for segment in picked for name in names_of(segment)), Answer(text, success=True)
    )


def to_discard(state: ThreadState, policy: DiscardPolicy, chosen: Sequence[str]) -> list[str]:
    """Returns the qualified ids of the chosen entries that may be discarded now, and of the calls
    of the context tools, as far as the floor allows.
    """
    wanted, segments = set(chosen), context_segments(state)
    free = [segment for segment in segments if segment.protected is None]
    going = [segment for segment in free if not wanted.isdisjoint(names_of(segment))]
    left = total_tokens(segments) - total_tokens(going)
    for segment in free if going else ():
        if (
            segment.kind is SegmentKind.CONTEXT_TOOL
            and segment not in going
            and left - segment.tokens >= policy.floor_tokens
        ):
            going.append(segment)
            left -= segment.tokens
    return [name for segment in going for name in names_of(segment)]


def follow_up_text(outcome: str) -> str:
    """Returns the prompt of the turn that follows a discard by the agent. Its prefix marks it, so
    that it is never taken for the person's newest prompt.
    """
    return (
        f"{FOLLOW_UP_PREFIX}{outcome} Go on with your task where you left off; this is no new "
        "request.</context-reduced>"
    )


MASKED_TEXT: Final = (
    f"{FOLLOW_UP_PREFIX}Old output has left your context to make room; the calls are still there. "
    "Go on with your task where you left off; this is no new request.</context-reduced>"
)
"""The prompt of the turn that goes on after a mask within a turn."""


def _left(state: ThreadState, chosen: Sequence[str]) -> list[ContextSegment]:
    gone = set(chosen)
    return [segment for segment in context_segments(state) if gone.isdisjoint(names_of(segment))]


def _short_ids(arguments: Any) -> list[str]:
    return list(dict.fromkeys(str(name) for name in as_list(as_dict(arguments).get("short_ids"))))


def _refused(text: str) -> Choice:
    return Choice((), Answer(text, success=False))


def _shown(segment: ContextSegment) -> dict[str, Any]:
    preview = (
        segment.preview
        if len(segment.preview) <= PREVIEW_CHARS
        else segment.preview[: PREVIEW_CHARS - 1] + "…"
    )
    shown: dict[str, Any] = {
        "short_id": segment.short_id,
        "role": segment.role,
        "kind": str(segment.kind),
        "preview": preview,
        "est_tokens": segment.tokens,
    }
    return shown if segment.protected is None else {**shown, "protected": segment.protected}
