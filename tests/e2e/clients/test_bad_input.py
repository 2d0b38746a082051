"""Whatever a client sends, it gets a clear answer and stays connected, and other clients are not
affected (docs/spec/clients.md).
"""

from typing import Any

import pytest

from tests.e2e.clients.strangers import CODEX_REFUSES, INPUT, STRANGER, speaking, started
from tests.e2e.conftest import Harness
from tests.e2e.wire import JsonRpcClient, Message

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]


async def answer_without_id(wire: JsonRpcClient, data: bytes) -> Message:
    """Sends bytes that have no usable id, and returns the answer with the id null."""
    after = len(wire.received)
    await wire.send_bytes(data)
    return dict(
        await wire.until(
            lambda message: isinstance(message, dict) and "id" in message and message["id"] is None,
            after,
        )
    )


NO_MESSAGES = [
    (b"nonsense", -32700), (b"{", -32700), (b'{"id":1,"method":"model/list"', -32700), (b'{"id":1,}', -32700),
    (b'"a string"', -32600), (b"42", -32600), (b"null", -32600), (b"[]", -32600), (b"{}", -32600),
    (b'{"jsonrpc":"1.0","method":"model/list"}', -32600), (b'{"id":{},"method":"model/list"}', -32600),
    (b'{"id":true,"method":"model/list"}', -32600), (b"\x00\xff\xfe", -32700), (b'{"method":"\xff"}', -32700),
    (b"{'id':1}", -32700), (b"GET / HTTP/1.1", -32700), (b"[" * 5000, -32700), (b'{"method":' * 2000, -32700),
]  # fmt: skip


async def test_a_line_that_is_no_message_is_answered_and_survived(harness: Harness) -> None:
    async with speaking(harness) as wire:
        for line, code in NO_MESSAGES:
            answer = await answer_without_id(wire, line + b"\n")
            assert answer["error"]["code"] == code, line
            assert "Traceback" not in str(answer)
            assert "result" in await wire.ask("sidecar/status"), line


WRONG_REQUESTS = [
    (b'{"id":"%b","method":7}', -32600), (b'{"id":"%b","method":null}', -32600), (b'{"id":"%b","method":["model/list"]}', -32600),
    (b'{"id":"%b","method":"model/list","params":"text"}', -32600), (b'{"id":"%b","method":"model/list","params":3}', -32600),
    (b'{"id":"%b"}', -32600), (b'{"id":"%b","jsonrpc":"3.0","method":"model/list"}', -32600),
    (b'{"id":"%b","method":"half \\ud83d"}', -32700),
]  # fmt: skip


async def test_a_wrong_request_is_answered_under_its_id(harness: Harness) -> None:
    async with speaking(harness) as wire:
        for number, (line, code) in enumerate(WRONG_REQUESTS):
            await wire.send_bytes(line % b"x%d" % number + b"\n")
            assert (await wire.answer_to(f"x{number}"))["error"]["code"] == code, line


async def test_blank_lines_and_white_space_are_nothing(harness: Harness) -> None:
    async with speaking(harness) as wire:
        after = len(wire.received)
        await wire.send_bytes(b"\n\r\n   \n\t\n")
        answer = await wire.ask("sidecar/status")
        assert [message for message in wire.received[after:] if "id" in message] == [answer]


async def test_an_answer_to_nothing_is_not_answered_as_a_request(harness: Harness) -> None:
    async with speaking(harness) as wire:
        after = len(wire.received)
        for line in (
            b'{"id":99,"result":{}}', b'{"id":"q1","error":{}}', b'{"id":1,"result":1,"error":{"code":1}}', b'{"id":null,"result":1}'
        ):  # fmt: skip
            await wire.send_bytes(line + b"\n")
        await wire.ask("sidecar/status")
        assert [message for message in wire.received[after:] if "error" in message] == []


async def test_an_unknown_method_gets_the_error_that_codex_has_for_it(harness: Harness) -> None:
    async with speaking(harness) as wire:
        for method in (
            "no/such/method",
            "",
            "thread/",
            "rpc.discover",
            "initialized",
            "thread/start/",
            "🦀",
            "x" * 5000,
        ):
            error = (await wire.ask(method))["error"]
            assert error["code"] == CODEX_REFUSES, method
            assert "unknown variant" in error["message"]
            assert "data" not in error


async def test_a_missing_or_wrong_thread_id_gets_the_error_that_codex_has_for_it(
    harness: Harness,
) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "missing field"), ({"threadId": 5}, "invalid type"), ({"threadId": None}, "invalid type"), ({"threadId": []}, "invalid type")
    ]  # fmt: skip
    async with speaking(harness) as wire:
        for method in NEED_A_THREAD:
            for params, words in wrong:
                error = (await wire.ask(method, **params))["error"]
                assert (error["code"], words in error["message"], "data" in error) == (
                    CODEX_REFUSES,
                    True,
                    False,
                ), (
                    method,
                    error,
                )


async def test_what_is_longer_than_it_can_be_is_refused_and_the_thread_stays_idle(
    harness: Harness,
) -> None:
    megabyte = "-" * 2**20
    async with speaking(harness) as wire:
        started = await wire.result("thread/start", cwd=str(harness.worktree))
        thread_id = started["thread"]["id"]
        prompt = [{"type": "text", "text": f"/compact {megabyte}"}]
        for method, params in (
            ("thread/read", {"threadId": megabyte}),
            ("turn/interrupt", {"threadId": thread_id, "turnId": megabyte}),
            ("thread/name/set", {"threadId": thread_id, "name": megabyte}),
            ("thread/list", {"cursor": megabyte}),
            ("thread/start", {"cwd": megabyte}),
            (megabyte, {}),
            ("turn/start", {"threadId": thread_id, "input": prompt}),
        ):
            error = (await wire.ask(method, **params))["error"]
            assert len(error["message"]) < 200, method[:100]
        read = await wire.result("thread/read", threadId=thread_id)
        assert read["thread"]["status"]["type"] == "idle"


async def test_an_unknown_thread_gets_the_error_that_codex_has_for_it(harness: Harness) -> None:
    async with speaking(harness) as wire:
        for method in NEED_A_THREAD:
            for thread_id in (STRANGER, "not an id", "", "../../etc/passwd", "x" * 10_000):
                answer = await wire.ask(
                    method,
                    threadId=thread_id,
                    name="name",
                    items=[],
                    input=INPUT,
                    turnId="x",
                    expectedTurnId="x",
                )
                if method == "thread/unsubscribe" and thread_id == STRANGER:
                    assert answer["result"] == {"status": "notLoaded"}
                else:
                    assert answer["error"].keys() == {"code", "message"}, (method, answer)


NEED_A_THREAD = [
    "thread/read", "thread/resume", "thread/fork", "thread/archive", "thread/unarchive",
    "thread/delete", "thread/unsubscribe", "thread/compact/start", "thread/inject_items",
    "thread/name/set", "thread/turns/list", "thread/items/list", "turn/start", "turn/steer",
    "turn/interrupt", "thread/backgroundTerminals/list", "thread/settings/update",
]  # fmt: skip


OWN_AND_NEED_A_THREAD: list[tuple[str, dict[str, Any]]] = [
    ("timeline/read", {}), ("orchestration/subscribeThread", {}), ("orchestration/snapshot", {}), ("commands/execute", {"text": "/clear"})
]  # fmt: skip


async def test_our_own_methods_name_the_thread_they_do_not_know(harness: Harness) -> None:
    async with speaking(harness) as wire:
        for method, params in OWN_AND_NEED_A_THREAD:
            for thread_id in (STRANGER, "not an id", "", "x" * 10_000):
                data = (await wire.ask(method, threadId=thread_id, **params))["error"]["data"]
                assert data["reason"] == "thread_not_found", method
                assert data["hint"]


async def test_parameters_as_an_array_are_refused(harness: Harness) -> None:
    async with speaking(harness) as wire:
        for method in (
            "thread/start",
            "turn/start",
            "thread/resume",
            "thread/archive",
            "commands/execute",
            "timeline/read",
        ):
            await wire.send({"id": method, "method": method, "params": [STRANGER, None, []]})
            assert (await wire.answer_to(method))["error"]["data"]["reason"] == "invalid_params", (
                method
            )
    assert harness.model.requests == []


async def test_wrong_types_in_our_own_methods_are_named(harness: Harness) -> None:
    wrong: list[dict[str, Any]] = [
        {"text": 7}, {"text": None}, {}, {"text": "/help", "threadID": "t"}, {"text": "/help", "commandId": 7}, {"text": ["/help"]}
    ]  # fmt: skip
    async with speaking(harness) as wire:
        for params in wrong:
            error = (await wire.ask("commands/execute", **params))["error"]
            assert (error["code"], error["data"]["reason"]) == (-32602, "invalid_params"), params


@pytest.mark.own_daemon
async def test_an_input_of_the_wrong_shape_leaves_the_thread_idle(harness: Harness) -> None:
    async with speaking(harness) as wire:
        thread_id = await started(wire, harness)
        odd: list[Any] = [
            "hello",
            None,
            7,
            [7],
            [{}],
            [{"type": "text"}],
            [{"type": "nonsense"}],
            INPUT[0],
        ]
        for turn_input in odd:
            answer = await wire.ask("turn/start", threadId=thread_id, input=turn_input)
            assert answer["error"]["code"] == CODEX_REFUSES, turn_input
            snapshot = await wire.result("orchestration/snapshot")
            assert [thread["busy"] for thread in snapshot["threads"]] == [None]
    assert harness.model.requests == []


WRONG_COMMANDS = [
    ("/clear abc", "“abc”"), ("/clear -1", "“-1”"), ("/clear 3 fix it", "“3 fix it”"), ("/clear 1.5", "“1.5”"), ("/clear 0x3", "“0x3”"),
    ("/clear 99999999", "“99999999”"), ("/clear ٣", "“٣”"), ("/clear 3\n4", "“3"), ("/CLEAR x", "“x”"),
    ("/compact --keep", "nothing"), ("/compact --keep -1", "“-1”"), ("/compact --nonsense", "“--nonsense”"), ("/new thing", "“thing”"),
]  # fmt: skip


async def test_a_wrong_command_says_what_is_right_and_nothing_reaches_the_model(
    harness: Harness,
) -> None:
    async with speaking(harness) as wire:
        thread_id = await started(wire, harness)
        for text, words in WRONG_COMMANDS:
            outcome = await wire.result("commands/execute", threadId=thread_id, text=text)
            assert (outcome["handled"], outcome["status"], outcome["reason"]) == (
                True,
                "failed",
                "usage",
            ), text
            assert words in outcome["message"]
            assert "Usage: /" in outcome["message"]
        snapshot = await wire.result("orchestration/snapshot", threadId=thread_id)
        assert snapshot["thread"]["contextTrimPoints"] == []
    assert harness.model.requests == []


async def test_execute_does_not_handle_a_text_that_is_no_command(harness: Harness) -> None:
    async with speaking(harness) as wire:
        thread_id = await started(wire, harness)
        for text in (
            "",
            " ",
            "clear",
            "/clearance sale",
            "//clear",
            "hello /clear",
            "/ clear",
        ):
            outcome = await wire.result("commands/execute", threadId=thread_id, text=text)
            assert outcome["handled"] is False, text
