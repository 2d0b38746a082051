"""A model of a thread in plain Python: the model's next input, and the content of ledger and
timeline.

It uses no code of trimpoint, so that it cannot have the same faults.
"""

import json
import re
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
    """One item of a model input. `kind` is user, assistant, call, output, reasoning, aborted,
    summary or sealed.
    """

    kind: str
    text: str = ""


def pieces(items: Iterable[Item]) -> list[Piece]:
    """Returns a model input without Codex's preamble."""
    return [piece_of(item) for item in items if not is_preamble(item)]


def is_preamble(item: Item) -> bool:
    """Returns whether an item belongs to the preamble that begins every Codex thread."""
    if item.get("type") == "additional_tools" or item.get("role") in ("developer", "system"):
        return True
    return item.get("role") == "user" and _text(item).startswith(PREAMBLE)


def piece_of(item: Item) -> Piece:
    """Returns an item without the ids and wrappers that Codex adds."""
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


def gist_of(piece: Piece) -> Piece:
    """Returns a summary without its envelope."""
    found = re.fullmatch(
        r"<conversation-summary messages=\d+>(.*)</conversation-summary>", piece.text
    )
    return piece if found is None else Piece("summary", found[1])


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
    """One turn. `entries` are its lines in the timeline: ("user" | "assistant" | an activity, its
    text). Behind them stands `half` of an answer, which counts as nothing.
    """

    pieces: list[Piece]
    entries: list[tuple[str, str]]
    status: str = "completed"
    half: str = ""

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Returns the lines of the turn in the timeline."""
        return [*self.entries, *([("assistant", self.half)] if self.half else [])]

    @property
    def message_count(self) -> int:
        """Returns the number of prompts and answers."""
        return sum(role in ("user", "assistant") for role, _ in self.entries)


@dataclass
class ExpectedTrim:
    """A trim. `turn_index` is the first turn after the boundary; `pruned` and `kept` count the
    turns that it removed and kept.
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
    """The expected state of a thread. `summary` stands for the turns that the last compaction
    pruned.
    """

    turns: list[ExpectedTurn] = field(default_factory=list)
    trims: list[ExpectedTrim] = field(default_factory=list)
    summary: Piece | None = None

    @property
    def active(self) -> list[ExpectedTurn]:
        """Returns the turns that are in the context, oldest first."""
        return self.turns[self.trims[-1].turn_index if self.trims else 0 :]

    @property
    def active_message_count(self) -> int:
        """Returns the number of messages in the context, in which a summary counts as one."""
        return sum(turn.message_count for turn in self.active) + (self.summary is not None)

    def context(self) -> list[Piece]:
        """Returns the model's input before the next prompt."""
        start = [self.summary] if self.summary else []
        return [*start, *(piece for turn in self.active for piece in turn.pieces)]

    def say(self, prompt: str, answer: str) -> None:
        """Adds a turn with a prompt and an answer."""
        self.turns.append(
            ExpectedTurn(
                [Piece("user", prompt), Piece("assistant", answer)],
                [("user", prompt), ("assistant", answer)],
            )
        )

    def can_clear(self, keep: int) -> bool:
        """Returns whether `/clear keep` would change anything."""
        return keep < len(self.active) or (keep == 0 and self.summary is not None)

    def clear(self, keep: int) -> None:
        """Applies `/clear keep`."""
        # A trim that keeps turns of a context with a summary leaves the summary behind.
        self._trim(keep, "clear", None)
        self.summary = None

    def compaction_refusal(self, keep: int, min_messages: int, force: bool) -> str | None:
        """Returns the reason why `/compact` is skipped, or None if it is executed."""
        count = self.active_message_count
        if count == 0 or (count < min_messages and not force):
            return "not_enough_messages"
        return "nothing_to_trim" if keep and keep >= len(self.active) else None

    def compact(self, keep: int, summary: str) -> None:
        """Applies `/compact --keep` with this summary of the model."""
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
        """Applies `/undo`."""
        self.summary = self.trims.pop().summary_before

    def timeline(self, expanded: frozenset[int]) -> list[Line]:
        """Returns the timeline, with the trims at the positions `expanded` expanded."""
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
    return ((role, text, trimmed) for turn in turns for role, text in turn.lines)


class Findings(NamedTuple):
    """The visible state of a thread: a model input, the counts of the read model, and the timeline
    with all trims expanded and with none.
    """

    shown: list[Piece]
    counts: tuple[Any, ...]
    opened: list[Line]
    shut: list[Line]


def right_one(
    possible: list[ExpectedThread], found: Findings, shown: Callable[[ExpectedThread], list[Piece]]
) -> ExpectedThread:
    """Returns the only valid state that agrees with the findings; `shown` returns the expected
    model input of a state.
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
    """Returns the counts of a read model, in the form of `Findings`."""
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
    """Returns a timeline of trimpoint in the form of `ExpectedThread.timeline`."""
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
    """Records every item that the model received, to check that none ever changes."""

    def __init__(self) -> None:
        self._by_id: dict[str, Item] = {}

    def check(self, items: Iterable[Item]) -> None:
        """Checks that no item differs from its first form."""
        for item in items:
            if not is_preamble(item) and "id" in item:
                first = self._by_id.setdefault(item["id"], item)
                assert item == first, f"shown as {item}, the first time as {first}"


def numbered(*numbers: int) -> list[Piece]:
    """Returns the items of the numbered turns with tool calls."""
    return [piece for number in numbers for piece in _numbered(number)]


def _numbered(number: int) -> list[Piece]:
    output = f"tool-output-{number}"
    said = Piece("user", f"prompt-{number}."), Piece("assistant", f"answer-{number}.")
    return [said[0], Piece("call", f"echo {output}"), Piece("output", output), said[1]]
