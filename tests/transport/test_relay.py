"""Codex's response is passed on at its place in the stream, before Codex's next message."""

from collections.abc import Callable
from typing import Any, cast

import anyio
import pytest
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderExited
from trimpoint.codex.appserver.peer import Outcome
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.session.requests.ordered_request import request_in_order

from tests.deadlines import STEP_S


def unexpected(_: Raw) -> None:
    pytest.fail("nobody waits")


class Codex:
    """A link and its peer in one object, which answers when the test tells it to."""

    request_deadline_s = 5.0

    def __init__(self) -> None:
        self.abandoned: list[int] = []
        self.asked = anyio.Event()
        self.deadline_s = 0.0
        self._on_outcome: Callable[[Outcome], None] | None = None

    async def connected(self) -> "Codex":
        return self

    def begin(
        self, method: str, params: Any, *, deadline_s: float, on_outcome: Callable[[Outcome], None]
    ) -> int:
        self._on_outcome = on_outcome
        self.deadline_s = deadline_s
        self.asked.set()
        return 7

    def abandon(self, request_id: int) -> None:
        self.abandoned.append(request_id)

    def answer(self, outcome: Outcome) -> None:
        assert self._on_outcome is not None
        self._on_outcome(outcome)

    def link(self) -> CodexLink:
        return cast("CodexLink", self)


async def test_the_answer_is_handled_before_the_next_message_of_codex() -> None:
    codex, order = Codex(), list[str]()

    async def ask() -> None:
        assert (
            await request_in_order(
                codex.link(), "m", {}, lambda raw: order.append(bytes(raw).decode()) or "made of it"
            )
            == "made of it"
        )
        order.append("awaited")

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await codex.asked.wait()
            codex.answer(Raw(b"answer"))
            order.append("notification")
    assert order == ["answer", "notification", "awaited"]


async def test_an_error_of_codex_is_raised_and_nothing_is_made_of_it() -> None:
    codex = Codex()

    async def ask() -> None:
        with pytest.raises(ProviderExited):
            await request_in_order(
                codex.link(), "m", {}, lambda _: pytest.fail("there was no answer")
            )

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await codex.asked.wait()
            codex.answer(ProviderExited("it died", ""))


async def test_a_defect_in_what_is_made_of_the_answer_belongs_to_who_asked() -> None:
    codex = Codex()

    def explode(raw: Raw) -> None:
        raise ZeroDivisionError

    async def ask() -> None:
        with pytest.raises(ZeroDivisionError):
            await request_in_order(codex.link(), "m", {}, explode)

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await codex.asked.wait()
            codex.answer(Raw(b"{}"))


async def test_a_cancelled_request_is_abandoned_and_its_late_answer_ignored() -> None:
    codex = Codex()
    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(request_in_order, codex.link(), "m", None, unexpected)
            await codex.asked.wait()
            tasks.cancel_scope.cancel()
    assert codex.abandoned == [7]
    codex.answer(Raw(b"{}"))


async def test_a_request_waits_no_longer_than_it_may() -> None:
    codex = Codex()

    async def ask() -> None:
        await request_in_order(codex.link(), "m", {}, bytes, deadline_s=3600.0)

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await codex.asked.wait()
            codex.answer(Raw(b"{}"))
    assert codex.deadline_s == 3600.0
