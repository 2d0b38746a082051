"""A session as the calls of its model: what each was sent, and when. Pure.

Sizes are estimates of the text that the log has; texts themselves are not kept, but for the words
of outputs, which say to which output a later call refers.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from trimpoint_protocol import unified as u
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.context.context_size import BASELINE_TOKENS, provider_compacts_at
from trimpoint.core.context.removals import output_placeholder
from trimpoint.core.context.segment_kinds import is_change_or_plan
from trimpoint.core.decide.masking import WORTH_A_MASK
from trimpoint.core.model.tokens import IMAGE_TOKENS, ITEM_TOKENS, estimate_text_tokens
from trimpoint.sessionlogs.content import Content

OTHER_CHANGES = frozenset(
    {
        "Edit", "MultiEdit", "NotebookEdit", "TodoWrite", "Write",
        "edit", "replace", "write_file", "write_todos",
    }
)  # fmt: skip
"""Tools of other agents that change files or make plans, whose output is not masked."""
WINDOWS = {"claude": 200_000, "gemini": 1_048_576}
CODEX_WINDOW = 258_400
"""The window of Codex's models, where the log has none (measured: 0.163)."""
_SAID = frozenset({"answer", "reasoning", "tool_call"})
_WORD_BYTES = range(4, 200)
_BETWEEN_WORDS = bytes(
    at if re.match(r"[\w./-]", chr(at), re.ASCII) or at > 127 else 32 for at in range(256)
)
# What a path or an identifier has, and a word of prose has not.
_is_telling = re.compile(rb"(?=.*[A-Za-z])(?:.*[_/.0-9].|.*[a-z][A-Z])").match


class Call(NamedTuple):
    """A call of the model. It was sent the items before `sent`, and its answer ends before `said`.
    `refers` are the newest outputs with the paths and identifiers in what its tools were given.
    """

    sent: int
    said: int
    at_ms: int
    turn: int
    refers: frozenset[int]


class Cut(NamedTuple):
    """What a person took out before a call, whatever the policy: a compaction all items before
    `item`, a rewind all from it on.
    """

    call: int
    kind: Literal["compact", "rewind"]
    item: int


class CutPlace(NamedTuple):
    """A cut as a log has it: the message after which it was, and the first message that stayed, or
    that was taken back.
    """

    kind: Literal["compact", "rewind"]
    after: int
    first: int


class Story(msgspec.Struct):
    """The calls of a session. `tokens` has the size of each item, `freed` what a mask of it frees,
    `turns` the first item of each turn. `overhead` are the tokens of instructions and tools.
    `compacts_at` is the size at which the agent itself compacts. `reported` are the input tokens
    that the agent has reported for all calls; None if it has not.
    """

    window: int
    compacts_at: int
    tokens: list[int] = []
    freed: dict[int, int] = {}
    turns: list[int] = []
    calls: list[Call] = []
    cuts: list[Cut] = []
    overhead: int = BASELINE_TOKENS
    reported: int | None = None


class StoryMaker:
    """Makes a story of messages in the order of their log."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._freed: dict[int, int] = {}
        self._turns: list[int] = []
        self._calls: list[Call] = []
        self._places: list[tuple[int, int, int]] = []  # a message, its item, and the calls before
        self._kept: set[str] = set()  # the calls whose output is not masked
        self._newest: dict[bytes, int] = {}
        self._answers = False

    def add(
        self,
        content: Content | u.MessageRecord,
        at_ms: int,
        *,
        index: int = 0,
        inherited: bool = False,
    ) -> None:
        """Adds a message, which the model is sent or says.

        :param index: the number of the message in its log.
        :param inherited: whether the log has it from another session, which made the call.
        """
        self._places.append((index, len(self._tokens), len(self._calls)))
        if content.kind == "prompt":
            self._turns.append(len(self._tokens))
        text, given = _text_of(content), [_given(call) for call in content.tool_calls]
        is_said = content.kind in _SAID
        if is_said and not inherited:
            self._called(content, at_ms)
        if text or given or content.omitted:
            images = content.omitted.count("image")
            self._add(" ".join((text, *given)), IMAGE_TOKENS * images)
        for call, words in zip(content.tool_calls, given, strict=True):
            if call.id is not None and _keeps_output(call):
                self._kept.add(call.id)
            if is_said and not inherited:
                self._refer(words)
        if is_said and not inherited:
            self._calls[-1] = self._calls[-1]._replace(said=len(self._tokens))
        self._answers = is_said
        for result in content.tool_results:
            self._output(result)

    def story(
        self,
        window: int,
        compacts_at: int | None = None,
        cuts: Sequence[CutPlace] = (),
        *,
        first_input: int = 0,
        reported: int | None = None,
    ) -> Story:
        """Returns the story.

        :param first_input: what the first call was sent, as reported; 0 if it was not.
        """
        overhead = BASELINE_TOKENS
        if first_input and self._calls:
            overhead = max(0, first_input - sum(self._tokens[: self._calls[0].sent]))
        return Story(
            window,
            compacts_at or provider_compacts_at(window, None),
            self._tokens,
            self._freed,
            self._turns,
            self._calls,
            self._cuts(cuts),
            overhead,
            reported,
        )

    def _called(self, content: Content | u.MessageRecord, at_ms: int) -> None:
        """Begins a call, if the message is not more of the answer of the last one."""
        if self._answers and content.usage is None:
            return
        sent = len(self._tokens)
        turn = max(0, len(self._turns) - 1)
        self._calls.append(Call(sent, sent, at_ms, turn, frozenset()))

    def _refer(self, words: str) -> None:
        newest = self._newest
        found = {newest[word] for word in _words(words) if word in newest and _is_telling(word)}
        call = self._calls[-1]
        self._calls[-1] = call._replace(refers=call.refers | found)

    def _output(self, result: u.ToolResult) -> None:
        at = len(self._tokens)
        tokens = self._add(result.output, 0)
        self._newest.update(dict.fromkeys(_words(result.output), at))
        freed = tokens - ITEM_TOKENS - estimate_text_tokens(output_placeholder(tokens))
        if freed >= WORTH_A_MASK and (result.call_id or "") not in self._kept:
            self._freed[at] = freed

    def _add(self, text: str, more_tokens: int) -> int:
        tokens = ITEM_TOKENS + estimate_text_tokens(text) + more_tokens
        self._tokens.append(tokens)
        return tokens

    def _cuts(self, cuts: Sequence[CutPlace]) -> list[Cut]:
        made: list[Cut] = []
        for kind, after, first in cuts:
            later = [one for one in self._places if one[0] > after]
            item = next((one[1] for one in self._places if one[0] >= first), len(self._tokens))
            call = later[0][2] if later else len(self._calls)
            made.append(Cut(call, kind, item))
        return sorted(made)


def moment_ms(timestamp: str | None, before: int) -> int:
    """Returns a time of a log in milliseconds since the epoch; `before` if it is none, or earlier
    than that.
    """
    try:
        return max(before, int(datetime.fromisoformat(timestamp or "").timestamp() * 1000))
    except (ValueError, OverflowError):
        return before


def _text_of(content: Content | u.MessageRecord) -> str:
    return f"{content.text} {content.thoughts}" if content.thoughts else content.text


def _words(text: str) -> set[bytes]:
    return set(text.encode("utf-8", "replace").translate(_BETWEEN_WORDS).split())


def _given(call: u.ToolCall) -> str:
    return f"{call.name} {' '.join(_texts(call.arguments))}"


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for member in as_dict(value).values() for text in _texts(member)]
    return [text for member in as_list(value) for text in _texts(member)]


def _keeps_output(call: u.ToolCall) -> bool:
    is_text = isinstance(call.arguments, str)
    return call.name in OTHER_CHANGES or is_change_or_plan(
        {"name": call.name, "input" if is_text else "arguments": call.arguments}
    )
