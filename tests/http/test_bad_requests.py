"""Requests that are none, or that a scanner sends: each is answered with a problem, the log has no
traceback, and the next connection is served.
"""

import json
import random
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from tests.effort import tries
from tests.http.stage import Stage

HEADS = [
    "GET / HTTP/1.1",
    "HEAD /api/v1/threads HTTP/1.1",
    "POST /api/v1/commands/help HTTP/1.1",
    "GET /rpc HTTP/1.1",
    "OPTIONS * HTTP/1.1",
    "DELETE /api/v1/threads/x/events?after=1 HTTP/1.1",
]
FIELDS = [
    "Host: localhost",
    "Content-Length: 2",
    f"Content-Length: {'9' * 5000}",
    "Content-Length: -1",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip",
    "Content-Type: application/json",
    f"Last-Event-ID: {'9' * 5000}",
    "Upgrade: websocket",
    "Sec-WebSocket-Protocol: trimpoint.login.\u00ff",
    "Authorization: Bearer \u00e4",
    "Expect: 100-continue",
    "Connection: upgrade",
    ": no name",
    "no colon",
    " folded",
]


async def answered(stage: Stage, sent: bytes) -> bytes:
    """Returns all that a connection is answered; its writing side is closed after `sent`."""
    async with stage.tcp() as wire:
        await wire.stream.send(sent)
        await wire.stream.send_eof()
        return await wire.rest()


def request(head: str, *fields: str, body: bytes = b"") -> bytes:
    return "\r\n".join([head, *fields, "", ""]).encode("latin-1") + body


@pytest.mark.parametrize("path", ["timeline", "events"])
async def test_a_query_of_too_many_members_is_refused(stage: Stage, path: str) -> None:
    query = "&".join(f"a{number}=1" for number in range(200))
    answer = await stage.asked("GET", f"/api/v1/threads/x/{path}?{query}")
    assert (answer.status, answer.json()["reason"]) == (400, "invalid_params")


async def test_a_last_event_of_thousands_of_digits_is_one_that_is_not_there(stage: Stage) -> None:
    headers = {"Last-Event-ID": "9" * 5000}
    answer = await stage.asked("GET", "/api/v1/threads/x/events", headers)
    assert (answer.status, answer.json()["reason"]) == (404, "thread_not_found")


async def test_a_body_of_two_lengths_is_refused_and_ends_the_connection(stage: Stage) -> None:
    fields = ["Host: localhost", f"Authorization: Bearer {stage.token}"]
    lengths = ["Content-Length: 2", "Transfer-Encoding: chunked"]
    smuggled = request("GET /api/v1/threads HTTP/1.1", *fields)
    sent = request("POST /login HTTP/1.1", *fields, *lengths, body=b"0\r\n\r\n" + smuggled)
    answer = await answered(stage, sent)
    assert answer.count(b"HTTP/1.1") == 1
    assert b"HTTP/1.1 400 " in answer
    assert b'"reason":"bad_request"' in answer
    assert b"connection: close" in answer.lower()


async def test_a_body_without_a_type_is_refused(stage: Stage) -> None:
    async with stage.tcp() as wire:
        answer = await wire.ask("POST", "/api/v1/commands/help", stage.bearer, b"{}")
    assert (answer.status, answer.json()["reason"]) == (415, "body_not_json")
    assert "no Content-Type" in answer.json()["detail"]


def nonsense(seed: int) -> Iterator[bytes]:
    """Yields requests of known parts in any order, some with bytes of chance in them."""
    chance = random.Random(seed)
    while True:
        fields = chance.choices(FIELDS, k=chance.randrange(6))
        sent = bytearray(request(chance.choice(HEADS), *fields, body=b"{}"))
        for _ in range(chance.choice([0, 0, 1, 5])):
            sent[chance.randrange(len(sent))] = chance.randrange(256)
        yield bytes(sent)


@pytest.mark.parametrize("seed", range(4))
async def test_nonsense_is_answered_with_a_problem(stage: Stage, seed: int) -> None:
    requests = nonsense(seed)
    with capture_logs() as logs:
        for _ in range(tries(50)):
            sent = next(requests)
            answer = await answered(stage, sent)
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 "), (sent, answer)
            if b" 400 " in head:
                assert json.loads(body)["status"] == 400
    assert not [log for log in logs if log["log_level"] in ("error", "critical")], logs
    assert (await stage.asked("GET", "/api/v1/threads")).status == 200
