"""Summaries as raw items: the one that the context begins with, and those in the place of turns in
the middle (docs/adr/0029).
"""

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter

import msgspec

from trimpoint.core.model.ledger import Discard, Turn

_ENVELOPE = re.compile(r"<(?=/?conversation-summary)")

Placed = list[tuple[int, bytes]]
"""Raw items of a turn with their positions in it."""


def summary_item(summary: str, message_count: int) -> bytes:
    """Returns the user message that holds a summary, as a raw item.

    The text must not begin with Codex's own preface, or Codex drops it at its next compaction
    (measured). If the summary contains the envelope of a summary, its brackets are escaped.
    """
    inner = _ENVELOPE.sub("&lt;", summary)
    text = f"<conversation-summary messages={message_count}>{inner}</conversation-summary>"
    return msgspec.json.encode(
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    )


def summary_in(item: bytes) -> str:
    """Returns the text of a summary that is a raw item, without its envelope."""
    text: str = msgspec.json.decode(item)["content"][0]["text"]
    return text[text.index(">") + 1 : text.rindex("<")]


def standing_summaries(
    discards: Sequence[Discard], turns: Iterable[Turn]
) -> dict[str, tuple[int, bytes]]:
    """Returns the summaries that stand among these turns of a context, by turn, each with its
    position in the turn.

    Each stands in the first of these turns that it stands for. So it stays whole while a trim
    leaves any of them.
    """
    left = [discard for discard in discards if discard.summary is not None]
    found: dict[str, tuple[int, bytes]] = {}
    for turn in turns if left else ():
        for discard in [one for one in left if one.positions.get(turn.id)]:
            left.remove(discard)
            item = summary_item(str(discard.summary), discard.summarized_messages)
            found[turn.id] = (discard.positions[turn.id][0], item)
    return found


def with_summary(placed: Placed, summary: tuple[int, bytes] | None) -> Placed:
    """Returns a turn's items with the summary that stands in it, if there is one."""
    return placed if summary is None else sorted([*placed, summary], key=itemgetter(0))
