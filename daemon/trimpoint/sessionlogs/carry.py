"""Converts the live context of a session to what a Codex thread can hold: raw items, turn by turn.
Pure.

Always true: nothing is invented, and only what the user of the log said has the role `user`. What
tools, sub-agents and shells put out, which may hold the words of anybody, is the output of a call.
Content that cannot be carried over becomes a readable line, or is counted in `left_out`; encrypted
items are never carried over.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.core.context.split_point import find_split
from trimpoint.core.context.summary_items import summary_item
from trimpoint.core.model.tokens import estimate_tokens
from trimpoint.sessionlogs.codex.items import CUSTOM_CALL
from trimpoint.sessionlogs.live import LiveWindow, Summary

FUNCTION_CALL = "function_call"
OWN_SUMMARY = "<conversation-summary"
MAX_OUTPUT_CHARS = 40_000
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
# Notices that tell the model what happened: what a person ran in a shell of the other program, and
# what a sub-agent or a task in the background has reported.
REPORTS = (
    "<bash-input>", "<bash-stdout>", "<user_shell_command>",
    "<subagent_notification>", "<task-notification>",
)  # fmt: skip
# A command that a person has defined; what it stands for is the next message.
OWN_COMMAND = "<command-message>"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


class CarriedTurn(NamedTuple):
    """A prompt and the items after it. `prompt` is None for the items before the first prompt."""

    prompt: str | None
    items: list[bytes]
    said: list[tuple[str, str]]


class Carried(NamedTuple):
    """The content of a new thread, oldest first, and a list for people of what it lacks."""

    turns: list[CarriedTurn]
    left_out: list[str]

    @property
    def items(self) -> list[bytes]:
        """Returns all items in order."""
        return [item for turn in self.turns for item in turn.items]


def carried(window: LiveWindow, *, max_tokens: int, last: int | None = None) -> Carried:
    """Returns the live context for a new thread.

    :param max_tokens: the limit of estimated tokens; the oldest items beyond it are left out.
    :param last: carry over only this number of the newest turns, and no summary.
    """
    maker = _Maker(window)
    turns = list(maker.turns(window))
    left_out = maker.left_out()
    if last is not None:
        whole = len(turns)
        turns = [turn for turn in turns if turn.prompt is not None]
        turns = turns[len(turns) - last :] if last < len(turns) else turns
        if len(turns) < whole:
            kept = "turn" if len(turns) == 1 else f"{len(turns)} turns"
            left_out.append(f"everything before the last {kept}, as asked")
    return _fitted(turns, left_out, max_tokens)


def _fitted(turns: list[CarriedTurn], left_out: list[str], max_tokens: int) -> Carried:
    placed = [(at, item) for at, turn in enumerate(turns) for item in turn.items]
    items = [item for _, item in placed]
    costs = [estimate_tokens(item) for item in items]
    cut = _cut(items, costs, max_tokens)
    if cut == 0:
        return Carried(turns, left_out)
    left = [f"the oldest {cut} items, because the window holds {max_tokens} tokens"]
    note = _message("user", f"[{cut} earlier items of this conversation were left out.]")
    kept: list[CarriedTurn] = []
    for at, of_turn in groupby(placed[cut:], key=lambda one: one[0]):
        rest = [item for _, item in of_turn]
        kept.append(turns[at]._replace(items=rest if kept else [note, *rest]))
    return Carried(kept or [CarriedTurn(None, [note], [])], [*left_out, *left])


def _cut(items: list[bytes], costs: list[int], max_tokens: int) -> int:
    """Returns how many of the oldest items to leave out; all of them if no other cut is small
    enough.
    """
    total = sum(costs)
    if total <= max_tokens:
        return 0
    for share in SHARES:
        cut = find_split(items, costs, oldest_share=share, min_messages=0)
        if cut is not None and total - sum(costs[:cut]) <= max_tokens:
            return cut
    return len(items)


class _Maker:
    def __init__(self, window: LiveWindow) -> None:
        self._missing: Counter[str] = Counter()
        self._calls: dict[str, str] = {}  # the types of calls that wait for their result, by id
        self._made_calls = 0
        self._answered = {
            result.call_id
            for item in window.items
            if isinstance(item, u.MessageRecord)
            for result in item.tool_results
        }
        if window.dropped:
            self._missing["of the oldest messages, which no model's window holds"] = window.dropped

    def left_out(self) -> list[str]:
        """Returns descriptions of what was not carried over, for people."""
        return [f"{count} × {what}" for what, count in sorted(self._missing.items())]

    def turns(self, window: LiveWindow) -> Iterator[CarriedTurn]:
        """Yields the turns; the items before the first prompt are a turn without a prompt."""
        turn = CarriedTurn(None, [], [])
        before = ""
        for item in window.items:
            expanded = isinstance(item, u.MessageRecord) and _is_expanded(item, before)
            if isinstance(item, u.MessageRecord):
                before = item.text
                if item.kind == "prompt" or expanded:
                    if turn.items:
                        yield turn
                    turn = CarriedTurn(item.text, [], [])
            for made, said in self._made(item, window.summaries, expanded=expanded):
                turn.items.append(made)
                if said is not None:
                    turn.said.append(said)
        if turn.items:
            yield turn

    def _made(
        self, item: u.MessageRecord | Summary, summaries: dict[int, Summary], *, expanded: bool
    ) -> Iterator[tuple[bytes, tuple[str, str] | None]]:
        if isinstance(item, Summary):
            yield self._summary(item), None
        elif item.kind == "summary" and item.index in summaries:
            yield self._summary(summaries[item.index]), None
        elif item.kind in ("preamble", "notice", "command") and not (
            expanded or item.text.startswith(REPORTS)
        ):
            self._missing["instructions and notices of the other program"] += 1
        elif item.kind == "reasoning":
            self._missing["reasoning"] += 1
        else:
            yield from self._message(item)

    def _summary(self, summary: Summary) -> bytes:
        if summary.text is None:
            self._missing["an encrypted summary"] += 1
            count = summary.replaced
            return _message("user", f"[An encrypted summary of {count} messages is left out.]")
        return summary_item(summary.text, summary.replaced)

    def _message(self, message: u.MessageRecord) -> Iterator[tuple[bytes, tuple[str, str] | None]]:
        text = _with_omissions(message)
        if text.startswith(REPORTS):
            yield from self._without_call("report", text)
        elif text and message.role in ("user", "assistant"):
            own = message.kind == "summary" or message.text.lstrip().startswith(OWN_SUMMARY)
            yield _message(message.role, text), None if own else (message.role, text)
        elif text and message.role != "tool":
            self._missing["messages of the other program itself"] += 1
        if message.thoughts:
            self._missing["reasoning"] += 1
        self._missing.update(f"{what} of a message" for what in message.omitted)
        for call in message.tool_calls:
            yield self._call(call), ("tool", f"{call.name} {_arguments(call.arguments)}")
        for result in message.tool_results:
            yield from self._result(result)

    def _call(self, call: u.ToolCall) -> bytes:
        """Returns a tool call as an item. A call without a result or an id becomes a sentence,
        because Codex does not accept it. Arguments that are a text are the input of a custom tool.
        """
        if call.id is not None and call.id not in self._answered:
            self._missing["a tool call in Codex's form, because its result is not there"] += 1
            told = f"[Called {call.name}: {_arguments(call.arguments)}. There is no result.]"
            return _message("assistant", told)
        if call.id is None:
            self._missing["a tool call in Codex's form, because it has no id"] += 1
            return _message("assistant", f"[Called {call.name}: {_arguments(call.arguments)}]")
        kind = CUSTOM_CALL if isinstance(call.arguments, str) else FUNCTION_CALL
        self._calls[call.id] = kind
        return _call_item(kind, call.name, call.arguments, call.id)

    def _result(self, result: u.ToolResult) -> Iterator[tuple[bytes, None]]:
        output = self._bounded(result.output)
        if result.call_id is None or result.call_id not in self._calls:
            yield from self._without_call("earlier_tool", output)
            return
        kind = self._calls.pop(result.call_id)  # a result that is said twice answers nothing more
        yield _output_item(kind, result.call_id, output), None

    def _without_call(self, name: str, output: str) -> Iterator[tuple[bytes, None]]:
        """Yields a call for an output that has none, and the output: as a message it would speak
        for the user.
        """
        self._made_calls += 1
        call_id = f"carried_{self._made_calls}"
        yield _call_item(FUNCTION_CALL, name, {}, call_id), None
        yield _output_item(FUNCTION_CALL, call_id, self._bounded(output)), None

    def _bounded(self, output: str) -> str:
        if len(output) > MAX_OUTPUT_CHARS:
            self._missing["the rest of a long result"] += 1
            output = (
                f"{output[:MAX_OUTPUT_CHARS]}\n[{len(output) - MAX_OUTPUT_CHARS} more left out]"
            )
        return output


def _call_item(kind: str, name: str, arguments: Any, call_id: str) -> bytes:
    item = {
        "type": kind,
        "name": _NOT_IN_A_NAME.sub("_", name)[:64] or "tool",
        "call_id": call_id,
    }
    if kind == CUSTOM_CALL:
        item["input"] = arguments
    else:
        if not isinstance(arguments, dict):
            arguments = {"input": arguments}
        item["arguments"] = msgspec.json.encode(arguments).decode()
    return msgspec.json.encode(item)


def _output_item(kind: str, call_id: str, output: str) -> bytes:
    return msgspec.json.encode({"type": f"{kind}_output", "call_id": call_id, "output": output})


def _message(role: str, text: str) -> bytes:
    part = "output_text" if role == "assistant" else "input_text"
    content = [{"type": part, "text": text}]
    return msgspec.json.encode({"type": "message", "role": role, "content": content})


def _with_omissions(message: u.MessageRecord) -> str:
    lines: Iterable[str] = (f"[{what} left out]" for what in message.omitted if "encr" not in what)
    return "\n".join(filter(None, (message.text, *lines)))


def _is_expanded(message: u.MessageRecord, before: str) -> bool:
    """Returns whether a message is the expansion of a command that the person defined."""
    return message.kind == "notice" and message.role == "user" and before.startswith(OWN_COMMAND)


def _arguments(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
