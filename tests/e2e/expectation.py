"""A thread as plain Python reckons it: what the model must be shown next, and what ledger and
timeline must say.

Nothing of trimpoint is used here, so that it can be wrong only in its own way.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Item = dict[str, Any]
Line = tuple[Any, ...]
PREAMBLE = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md",
    "<permissions instructions>",
)


class Piece(NamedTuple):
    """One item of a model input. `kind`: user | assistant | call | output | reasoning | aborted |
    summary | sealed.
    """

    kind: str
    text: str = ""


def pieces(items: Iterable[Item]) -> list[Piece]:
    """A model input without what Codex says by itself about its surroundings."""
    return [piece_of(item) for item in items if not is_preamble(item)]


def is_preamble(item: Item) -> bool:
    """Instructions and surroundings, which every Codex thread begins with."""
    if item.get("type") == "additional_tools" or item.get("role") in ("developer", "system"):
        return True
    return item.get("role") == "user" and _text(item).startswith(PREAMBLE)


def piece_of(item: Item) -> Piece:
    """What an item is, without the ids and wrappings that Codex adds."""
    match item["type"]:
        case "message" if item["role"] == "assistant":
            return Piece("assistant", _text(item))
        case "message":
            return _user_piece(_text(item))
        case "function_call":
            return Piece("call", json.loads(item["arguments"])["cmd"])
        case "function_call_output":
            return Piece("output", str(item["output"]).strip().splitlines()[-1])
        case "reasoning":
            return Piece("reasoning", item.get("encrypted_content") or "")
        case "compaction":
            return Piece("sealed", item["encrypted_content"])
        case other:
            raise AssertionError(f"an item of type {other!r} is not expected here: {item}")


def _user_piece(text: str) -> Piece:
    if text.startswith("<turn_aborted>"):
        return Piece("aborted")
    return Piece("summary" if text.startswith("<conversation-summary") else "user", text)


def _text(item: Item) -> str:
    return "".join(part.get("text", "") for part in item.get("content") or ())


# What Codex says for the output of a command that it died in; it stands in no file.
UNANSWERED = Piece("output", "aborted")


@dataclass
class ExpectedTurn:
    """One turn. `entries` are the timeline's lines of it: ("user" | "assistant" | an activity, its
    text).
    """

    pieces: list[Piece]
    entries: list[tuple[str, str]]
    status: str = "completed"

    @property
    def message_count(self) -> int:
        """Prompts and answers."""
        return sum(role in ("user", "assistant") for role, _ in self.entries)


@dataclass
class ExpectedTrim:
    """`turn_index` is the first turn after the boundary; `pruned` and `kept` how many turns this
    trim took out and left.
    """

    turn_index: int
    pruned: int
    kept: int
    message_count: int
    trigger: str
    summary: str | None
    summary_before: Piece | None = None


@dataclass
class ExpectedThread:
    """`summary` is the piece that stands for what the last compaction pruned."""

    turns: list[ExpectedTurn] = field(default_factory=list)
    trims: list[ExpectedTrim] = field(default_factory=list)
    summary: Piece | None = None

    @property
    def active(self) -> list[ExpectedTurn]:
        """Turns that the agent still has, oldest first."""
        return self.turns[self.trims[-1].turn_index if self.trims else 0 :]

    @property
    def active_message_count(self) -> int:
        """A summary counts as one message."""
        return sum(turn.message_count for turn in self.active) + (self.summary is not None)

    def context(self) -> list[Piece]:
        """What the model is shown before the next prompt."""
        start = [self.summary] if self.summary else []
        return [*start, *(piece for turn in self.active for piece in turn.pieces)]

    def say(self, prompt: str, answer: str) -> None:
        """A plain turn has happened."""
        self.turns.append(
            ExpectedTurn(
                [Piece("user", prompt), Piece("assistant", answer)],
                [("user", prompt), ("assistant", answer)],
            )
        )

    def can_clear(self, keep: int) -> bool:
        """Whether `/clear keep` has anything to do."""
        return keep < len(self.active) or (keep == 0 and self.summary is not None)

    def clear(self, keep: int) -> None:
        """`/clear keep` has happened."""
        # A trim that keeps turns of a context with a summary leaves the summary behind.
        self._trim(keep, "clear", None)
        self.summary = None

    def compaction_refusal(self, keep: int, min_messages: int, force: bool) -> str | None:
        """Why `/compact` is skipped, or None when it is carried out."""
        count = self.active_message_count
        if count == 0 or (count < min_messages and not force):
            return "not_enough_messages"
        return "nothing_to_trim" if keep and keep >= len(self.active) else None

    def compact(self, keep: int, summary: str) -> None:
        """`/compact --keep` has happened and `summary` was the model's."""
        kept_messages = (
            sum(turn.message_count for turn in self.active[len(self.active) - keep :])
            if keep
            else 0
        )
        count = self.active_message_count - kept_messages
        self._trim(keep, "compact", summary)
        self.summary = Piece(
            "summary", f"<conversation-summary messages={count}>{summary}</conversation-summary>"
        )

    def _trim(self, keep: int, trigger: str, summary: str | None) -> None:
        active = self.active
        cut = max(0, len(active) - keep)
        pruned = active[:cut]
        self.trims.append(
            ExpectedTrim(
                turn_index=len(self.turns) - len(active) + cut,
                pruned=cut,
                kept=len(active) - cut,
                message_count=sum(turn.message_count for turn in pruned),
                trigger=trigger,
                summary=summary,
                summary_before=self.summary,
            )
        )

    def undo(self) -> None:
        """`/undo` has happened."""
        self.summary = self.trims.pop().summary_before

    def timeline(self, expanded: frozenset[int]) -> list[Line]:
        """The timeline with the trims at positions `expanded` opened."""
        return list(self._timeline(expanded))

    def _timeline(self, expanded: frozenset[int]) -> Iterator[Line]:
        start = 0
        for position, trim in enumerate(self.trims):
            if position in expanded:
                yield from _lines(self.turns[start : trim.turn_index], trimmed=True)
            if trim.summary is not None:
                yield "banner", trim.summary
            yield "divider", trim.message_count, position in expanded
            start = trim.turn_index
        yield from _lines(self.turns[start:], trimmed=False)


def _lines(turns: list[ExpectedTurn], *, trimmed: bool) -> Iterator[Line]:
    return ((role, text, trimmed) for turn in turns for role, text in turn.entries)


class Findings(NamedTuple):
    """What can be seen of a thread from outside: a model input, the counts of the read model, the
    timeline opened and shut.
    """

    shown: list[Piece]
    counts: tuple[Any, ...]
    opened: list[Line]
    shut: list[Line]


def right_one(
    possible: list[ExpectedThread], found: Findings, shown: Callable[[ExpectedThread], list[Piece]]
) -> ExpectedThread:
    """The one state of several right ones that was found, wholly; `shown` is what the model was to
    be shown in it.
    """
    wanted = [_expected_findings(state, shown(state)) for state in possible]
    if found in wanted:
        return possible[wanted.index(found)]
    raise AssertionError(
        "\n  ".join(["found", str(found), "but right would be", *map(str, wanted)])
    )


def _expected_findings(state: ExpectedThread, shown: list[Piece]) -> Findings:
    points = [(trim.message_count, trim.pruned, trim.summary, "applied") for trim in state.trims]
    counts = ([turn.status for turn in state.turns], state.active_message_count, points)
    return Findings(
        shown,
        counts,
        state.timeline(frozenset(range(len(state.trims)))),
        state.timeline(frozenset()),
    )


def counts_of(snapshot: dict[str, Any]) -> tuple[Any, ...]:
    """The counts of a read model, as `Findings` has them."""
    points = snapshot["contextTrimPoints"]
    trims = [
        (
            point["prunedMessageCount"],
            len(point["prunedTurnIds"]),
            point["summary"],
            point["status"],
        )
        for point in points
    ]
    return [turn["status"] for turn in snapshot["turns"]], snapshot["activeMessageCount"], trims


def shown_lines(entries: list[dict[str, Any]]) -> list[Line]:
    """A timeline as trimpoint sent it, in the words of `ExpectedThread.timeline`."""
    return [_shown(entry) for entry in entries]


def _shown(entry: dict[str, Any]) -> Line:
    match entry["kind"]:
        case "message":
            return entry["role"], entry["text"], entry["trimmed"]
        case "activity":
            return entry["activity"], entry["title"], entry["trimmed"]
        case "contextSummaryBanner":
            assert entry["header"] == "Context compacted"
            return "banner", entry["summary"]
        case _:
            assert entry["label"] == "Earlier messages"
            return "divider", entry["hiddenMessageCount"], entry["expanded"]


class ItemsSeen:
    """Every item that the model was ever shown, to tell that none ever changes."""

    def __init__(self) -> None:
        self._by_id: dict[str, Item] = {}

    def check(self, items: Iterable[Item]) -> None:
        """Nothing of a conversation may be shown in another form than the first time."""
        for item in items:
            if not is_preamble(item) and "id" in item:
                first = self._by_id.setdefault(item["id"], item)
                assert item == first, f"shown as {item}, the first time as {first}"
