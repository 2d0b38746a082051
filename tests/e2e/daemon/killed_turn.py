"""A turn whose daemon was killed, and the states in which it may be found."""

import copy
from collections.abc import Iterator
from typing import Any

from trimpoint.testkit import run, say

from tests.e2e.expectation import (
    UNANSWERED,
    ExpectedThread,
    ExpectedTurn,
    Piece,
)

Possible = list[ExpectedThread]


class KilledTurn:
    """A turn that may be interrupted by a kill: its steps, and the states that it can leave
    behind.
    """

    def __init__(self, prompt: str, output: str | None, answer: str) -> None:
        self.prompt = prompt
        self.replies = [*([run(f"echo {output}")] if output else []), say(answer)]
        self._steps = [([Piece("user", prompt)], ("user", prompt))]
        if output:
            command = f"/bin/bash -lc 'echo {output}'"
            self._steps.append(
                (
                    [Piece("call", f"echo {output}"), Piece("output", output)],
                    ("commandExecution", command),
                )
            )
        self._steps.append(([Piece("assistant", answer)], ("assistant", answer)))

    def outcomes(self, before: ExpectedThread, *, only_whole: bool) -> Possible:
        """Returns the valid states: the thread without the turn, and with each part of it."""
        whole = self._after(before, len(self._steps), "completed", [])
        if only_whole:
            return [whole]
        return [copy.deepcopy(before), *self._broken(before), whole]

    def _broken(self, before: ExpectedThread) -> Iterator[ExpectedThread]:
        """Yields the states after a kill before the first step was recorded, after each step, and
        during the command.
        """
        for count in range(len(self._steps) + 1):
            yield self._after(before, count, "interrupted", [])
            # Codex had the time to note down that it was broken off.
            yield self._after(before, count, "interrupted", [Piece("aborted")])
        for count in range(1, len(self._steps)):
            # Codex told of the next step and had not the time to note it down.
            yield self._after(before, count, "interrupted", [], count + 1)
        if len(self._steps) == 3:
            call, _ = self._steps[1][0]
            noted, unnoted = (
                [call, Piece("output", "aborted by user"), Piece("aborted")],
                [call, UNANSWERED],
            )
            for count, listed in ((1, 1), (1, 2)):
                yield self._after(before, count, "interrupted", noted, listed)
                yield self._after(before, count, "interrupted", unnoted, listed)

    def _after(
        self,
        before: ExpectedThread,
        count: int,
        status: str,
        then: list[Piece],
        listed: int | None = None,
    ) -> ExpectedThread:
        after = copy.deepcopy(before)
        shown = [piece for step, _ in self._steps[:count] for piece in step]
        after.turns.append(
            ExpectedTurn(
                [*shown, *then], [entry for _, entry in self._steps[: listed or count]], status
            )
        )
        return after


def left_by(
    answer: dict[str, Any], text: str, before: ExpectedThread, after: ExpectedThread
) -> Possible:
    """Returns the valid states after a command with this answer."""
    is_compaction = text.startswith("/compact")
    if not answer or ("status" not in answer and is_compaction):
        return [before, after]
    if answer.get("status") == "failed" and not answer["trimPointId"]:
        assert is_compaction, answer
        return [before]
    assert answer.get("status") in (None, "completed", "failed"), answer
    return [after]
