"""A superseded provider thread stays in its place while a client that looks for its file is there."""

from typing import Any, cast

import pytest
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.operations.provider.archiving import Archiving


class Link:
    """Refuses to archive the threads `without_rollout`."""

    def __init__(self, *without_rollout: str) -> None:
        self.asked: list[tuple[str, str]] = []
        self._without_rollout = without_rollout

    async def request(self, method: str, params: dict[str, Any]) -> None:
        self.asked.append((method, params["threadId"]))
        if method == "thread/archive" and params["threadId"] in self._without_rollout:
            raise ProviderError(-32600, "no rollout found", None, Raw(b"{}"))


def test_what_is_held_is_due_once_when_the_client_has_left() -> None:
    open_in_ui = {"t"}
    archiving = Archiving(cast("CodexLink", Link()), open_in_ui.__contains__)
    assert not archiving.holds("other", "p1")
    assert not archiving.holds("t", None)
    assert archiving.holds("t", "p1")
    assert archiving.holds("t", "p1")
    assert archiving.due() == []
    open_in_ui.clear()
    assert archiving.due() == ["p1"]
    assert archiving.due() == []


@pytest.mark.parametrize("refused", [False, True])
async def test_a_thread_that_cannot_be_archived_is_let_go(refused: bool) -> None:
    link = Link(*["p1"] * refused)
    await Archiving(cast("CodexLink", link), lambda _: False).archive("p1")
    expected = [("thread/archive", "p1"), ("thread/unsubscribe", "p1")]
    assert link.asked == expected[: 1 + refused]
