"""The number of requests to Codex for one page of `thread/list`, with a thousand trimmed
threads.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec import Raw
from trimpoint.codex.appserver.peer import Outcome
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.lists.thread_lists import ThreadLists
from trimpoint.gateway.session.clients import Clients
from trimpoint.threads.catalogue import ThreadSummary
from trimpoint.threads.registry import ThreadRegistry

from tests.gateway.stage import FakeClient, client_request


class Codex:
    """A link and peer in one object that lists provider threads, newest first. One third of the
    threads was not trimmed, one third was, and one third has had no turn since its trim.
    """

    request_deadline_s = 5.0

    def __init__(self, count: int) -> None:
        self.asked: list[str] = []
        self.summaries: dict[str, ThreadSummary] = {}
        self.rows: dict[str, dict[str, Any]] = {}
        for number in range(count):
            self._add(number)

    def _add(self, number: int) -> None:
        thread_id, at = f"t{number:04}", 10 * number
        now = thread_id if number % 3 == 0 else f"p{number:04}"
        # Trimmed in another order than begun, while others were begun.
        created = at if now == thread_id else at + 5 + number * 37 % 500
        self.summaries[thread_id] = ThreadSummary(
            thread_id, 0, 0, list(dict.fromkeys((thread_id, now))), [], None, "/", archived=False,
            created_at_ms=at * 1000, updated_at_ms=at * 1000, unfinished=False, new_thread_id=None,
        )  # fmt: skip
        self.rows[now] = {
            "id": now, "createdAt": created, "updatedAt": created, "modelProvider": "m",
            "source": "cli", "isListed": number % 3 != 2,
        }  # fmt: skip

    async def connected(self) -> "Codex":
        return self

    def begin(
        self, method: str, params: Any, *, deadline_s: float, on_outcome: Callable[[Outcome], None]
    ) -> int:
        self.asked.append(method)
        asked = msgspec.json.decode(params)
        rows = [row for row in self.rows.values() if row["isListed"]]
        is_newest_first = asked.get("sortDirection") != "asc"
        rows.sort(key=lambda row: (row["createdAt"], row["id"]), reverse=is_newest_first)
        start = int(asked["cursor"] or 0)
        end = start + asked["limit"]
        answer = {"data": rows[start:end], "nextCursor": str(end) if end < len(rows) else None}
        on_outcome(Raw(msgspec.json.encode(answer)))
        return len(self.asked)

    def abandon(self, request_id: int) -> None:
        pass

    async def request(self, method: str, params: dict[str, Any]) -> Raw:
        self.asked.append(method)
        return Raw(msgspec.json.encode({"thread": self.rows[params["threadId"]]}))


class Setup:
    """Lists of the threads of that Codex, as one client requests them."""

    def __init__(self, count: int) -> None:
        self.codex = Codex(count)
        owners = {
            provider_id: summary.thread_id
            for summary in self.codex.summaries.values()
            for provider_id in summary.provider_thread_ids
        }
        registry = cast(
            "ThreadRegistry",
            SimpleNamespace(
                summaries=self.codex.summaries, owner_of=owners.get, loaded=dict[str, None]().get
            ),
        )
        link = cast("CodexLink", self.codex)
        identity = Identity(registry)
        identity.to_provider = lambda message: message  # type: ignore[method-assign]
        self.lists = ThreadLists(registry, link, identity, self.codex.summaries.__contains__)
        self.client = FakeClient(Clients())

    async def page(self, **params: Any) -> dict[str, Any]:
        message = {"id": 1, "method": "thread/list", "params": params}
        request = client_request(self.client, msgspec.json.encode(message))
        return cast("dict[str, Any]", await self.lists.handlers["thread/list"](request))

    async def cost(self, **params: Any) -> tuple[int, int]:
        """Returns how many lists of threads, and how many single threads, are requested from Codex
        for one page.
        """
        self.codex.asked.clear()
        await self.page(**params)
        return self.codex.asked.count("thread/list"), self.codex.asked.count("thread/read")


@pytest.mark.parametrize("direction", ["desc", "asc"])
@pytest.mark.parametrize("limit", [7, 100])
async def test_all_pages_together_are_all_threads_in_their_order(
    direction: str, limit: int
) -> None:
    setup, found, cursor = Setup(450), list[str](), None
    while True:
        page = await setup.page(limit=limit, sortDirection=direction, cursor=cursor)
        found += [row["id"] for row in page["data"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
        assert len(page["data"]) == limit
    assert found == sorted(setup.codex.summaries, reverse=direction == "desc")


@pytest.mark.parametrize("params", [{}, {"modelProviders": ["m"]}, {"limit": 100}])
async def test_a_first_page_costs_the_same_among_any_number_of_trimmed_threads(
    params: dict[str, Any],
) -> None:
    few, many = [await Setup(count).cost(**params) for count in (600, 3_000)]
    assert few == many
    assert many[0] <= 3
    assert 0 < many[1] <= 100


async def test_a_page_further_down_reads_no_more_threads_than_it_shows() -> None:
    setup, cursor = Setup(3_000), None
    for number in range(1, 6):
        lists, reads = await setup.cost(limit=100, cursor=cursor)
        assert lists <= number + 2
        assert 0 < reads <= 100
        cursor = (await setup.page(limit=100, cursor=cursor))["nextCursor"]
