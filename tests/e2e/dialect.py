"""Sends the same requests to two Codexes, and returns the differences between their answers, after
values that always differ were made equal.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.e2e.wire import JsonRpcClient, Message

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# What two homes, two models and two moments of the same script have different: paths, ports, dates,
# digests, numbers of items.
_OF_THE_PLACE = (
    (re.compile(r"/[^\" ]*codex-home-\w+"), "CODEX-HOME"),
    (re.compile(r"/[^\" ]*/worktree\b"), "WORKTREE"),
    (re.compile(r"127\.0\.0\.1:\d+"), "MODEL"),
    (re.compile(r"\d{4}[-/]\d\d[-/]\d\d(T[-\d:.]+Z?)?"), "DATE"),
    (re.compile(r"sha256:[0-9a-f]+"), "DIGEST"),
    (re.compile(r"\b(msg|call|resp)_\d+"), r"\1_N"),
    (re.compile(r'"rolloutOrdinal":\d+'), "PLACE"),
)
_OF_THE_MOMENT = frozenset({"processId", "emittedAtMs", "durationMs"})
_LONG_AGO_S = 1_000_000_000


class Transcript:
    """Labelled answers, in order. Ids are numbered in order of appearance, so that two transcripts
    give the same thread the same name.
    """

    def __init__(self, wire: JsonRpcClient, ids: dict[str, str] | None = None) -> None:
        self.wire = wire
        self.answers: list[tuple[str, Any]] = []
        self.ids = {} if ids is None else ids
        """The numbers of ids; another transcript of the same threads may share them."""

    async def ask(self, label: str, method: str, /, **params: Any) -> Message:
        """Sends a request, and records its answer, also if it is an error."""
        answer = await self.wire.ask(method, **params)
        self.answers.append(
            (label, self._plain({name: value for name, value in answer.items() if name != "id"}))
        )
        return answer

    def note(self, label: str, value: Any) -> None:
        """Records another value that has to be the same."""
        self.answers.append((label, self._plain(value)))

    async def turn(self, thread_id: str, text: str) -> None:
        """Runs a whole turn, and records its notifications."""
        after = len(self.wire.received)
        turn_input = [{"type": "text", "text": text}]
        answer = await self.ask(f"turn {text}", "turn/start", threadId=thread_id, input=turn_input)
        turn_id = answer["result"]["turn"]["id"]
        await self.wire.until(
            lambda one: (
                one.get("method") == "turn/completed" and one["params"]["turn"]["id"] == turn_id
            ),
            after,
        )

    def order(self, *ignored: str) -> list[str]:
        """Returns the methods of received notifications in order, with "answer" for an answer,
        without the methods in `ignored`.
        """
        return [method for method in self.wire.methods() if method not in ignored]

    def said(self, method: str) -> list[Any]:
        """Returns the parameters of each notification of this method."""
        return [
            self._plain(message["params"])
            for message in self.wire.received
            if message.get("method") == method
        ]

    def _plain(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {
                self._plain_text(key): self._plain(member, key) for key, member in value.items()
            }
        if isinstance(value, list):
            return [self._plain(member, name) for member in value]
        if name in _OF_THE_MOMENT or (isinstance(value, int) and value > _LONG_AGO_S):
            return None if value is None else "SOME"
        return self._plain_text(value) if isinstance(value, str) else value

    def _plain_text(self, text: str) -> str:
        text = _UUID.sub(
            lambda found: self.ids.setdefault(found[0], f"<{len(self.ids) + 1}>"), text
        )
        for pattern, replacement in _OF_THE_PLACE:
            text = pattern.sub(replacement, text)
        return text


def differences(one: Transcript, other: Transcript) -> list[str]:
    """Returns the differences between the answers, as "label: path: this → that"."""
    assert [label for label, _ in one.answers] == [label for label, _ in other.answers]
    return [
        f"{label}: {difference}"
        for (label, this), (_, that) in zip(one.answers, other.answers, strict=True)
        for difference in _between(this, that, "")
    ]


def _between(this: Any, that: Any, path: str) -> Iterator[str]:
    if isinstance(this, dict) and isinstance(that, dict):
        for name in {**this, **that}:
            yield from _between(
                this.get(name, "nothing"), that.get(name, "nothing"), f"{path}.{name}"
            )
    elif isinstance(this, list) and isinstance(that, list) and len(this) == len(that):
        for index, (a, b) in enumerate(zip(this, that, strict=True)):
            yield from _between(a, b, f"{path}[{index}]")
    elif this != that:
        yield f"{path}: {_short(this)} → {_short(that)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else text[:119] + "…"
