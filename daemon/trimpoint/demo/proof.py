"""Checks the demo's claim: after a trim, no input of the model contains a pruned text, and the next
input contains all kept texts.

Always true: it searches the requests that the model received for texts of the script, and does not
ask the daemon.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from trimpoint.demo.script import Line
from trimpoint.testkit import ModelRequest


class Findings(NamedTuple):
    """The result of the check. `leaked` has pruned texts that the model received, and `missing`
    kept texts that it did not receive.
    """

    leaked: list[str]
    missing: list[str]
    looked_for: int
    file_is_right: bool

    @property
    def are_good(self) -> bool:
        """Returns whether the demo has shown its claim."""
        return not self.leaked and not self.missing and self.looked_for > 0 and self.file_is_right


class _Trim(NamedTuple):
    """The texts that a trim pruned and kept. `end` is the number of requests after which pruned
    texts are allowed again, or None.
    """

    first_request: int
    pruned: list[str]
    kept: list[str]
    end: int | None = None


class Proof:
    """Checks the requests that the model receives; `requests` grows while the demo runs."""

    def __init__(self, requests: Sequence[ModelRequest]) -> None:
        self._requests = requests
        self._trims: list[_Trim] = []
        self._looked_up: list[tuple[int, str]] = []

    def trimmed(self, *, pruned: Sequence[Line], kept: Sequence[Line], summary: str | None) -> None:
        """Checks, for all requests from now on, that pruned texts are absent, and that the next
        turn contains the kept texts.
        """
        kept_texts = [text for line in kept for text in line.texts()]
        pruned_texts = [text for line in pruned for text in line.texts() if text not in kept_texts]
        self._trims.append(
            _Trim(len(self._requests), pruned_texts, [*kept_texts, *([summary] if summary else [])])
        )

    def seen_again(self) -> None:
        """Allows pruned texts in requests from now on, because the trim was undone or the agent
        looks them up.
        """
        now = len(self._requests)
        self._trims = [trim._replace(end=trim.end or now) for trim in self._trims]

    def looked_up(self, text: str) -> None:
        """Checks that a text that the agent has looked up is in a request from now on."""
        self._looked_up.append((len(self._requests), text))

    def findings(self, *, file_is_right: bool) -> Findings:
        """Returns the result for all requests so far."""
        leaked = [
            text
            for trim in self._trims
            for text in trim.pruned
            if self._is_in_any(text, trim.first_request, trim.end)
        ]
        missing = [
            text
            for trim in self._trims
            for text in trim.kept
            if not self._is_in_next_turn(text, trim.first_request)
        ]
        missing += [
            text for first, text in self._looked_up if not self._is_in_any(text, first, None)
        ]
        looked_for = sum(len(trim.pruned) for trim in self._trims)
        return Findings(_unique(leaked), _unique(missing), looked_for, file_is_right)

    def _is_in_any(self, text: str, first: int, end: int | None) -> bool:
        return any(request.mentions(text) for request in self._requests[first:end])

    def _is_in_next_turn(self, text: str, first: int) -> bool:
        following = [request for request in self._requests[first:] if request.kind == "turn"]
        return bool(following) and following[0].mentions(text)


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
