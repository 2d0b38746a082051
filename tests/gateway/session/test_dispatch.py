"""The contract of the adapter to jsonrpcserver: no known fault of that library reaches a client."""

import re
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
import trimpoint
from msgspec import Raw
from structlog.testing import capture_logs
from trimpoint.core.model.decision import BusyReason
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.requests.dispatch import Answer, Call, ExtensionMethods, Handler
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest
from trimpoint.threads.errors import CommandRefused, ThreadNotFound
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import METHODS, CommandList, Empty, Result

from tests.deadlines import STEP_S
from tests.gateway.stage import FakeClient, client_request

SECRET = "a secret out of the program"


class Handlers:
    """A table in which every method returns `outcome`, or raises it."""

    def __init__(self, outcome: Result | BaseException) -> None:
        self.outcome = outcome
        self.called: list[Any] = []

    async def handle(self, call: Call, params: Any) -> Any:
        self.called.append(params)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def methods(self) -> ExtensionMethods:
        return ExtensionMethods(dict.fromkeys(METHODS, self.handle))


def a_call() -> Call:
    return Call(FakeClient(Clients()).client)


async def answered(
    outcome: Result | BaseException, method: str = "commands/list", params: bytes | None = None
) -> Answer:
    raw = Raw(params) if params is not None else None
    return await Handlers(outcome).methods().call(method, raw, a_call())


def on_the_wire(answer: Answer) -> dict[str, Any]:
    assert answer.error is not None
    error: dict[str, Any] = msgspec.json.decode(answer.error.encode())
    return error


async def test_a_result_is_passed_on_as_it_is() -> None:
    result = CommandList(commands=[])
    answer = await answered(result)
    assert answer.result is result
    assert answer.error is None


@pytest.mark.parametrize("method", METHODS)
async def test_every_method_of_the_registry_is_ours_and_reaches_its_handler(method: str) -> None:
    handlers = Handlers(Empty())
    methods = handlers.methods()
    assert methods.owns(method)
    answer = await methods.call(method, Raw(EXAMPLES.get(method, b"{}")), a_call())
    assert answer.error is None
    assert [type(params) for params in handlers.called] == [METHODS[method].params]


EXAMPLES = {
    "commands/complete": b'{"text":"/"}',
    "commands/execute": b'{"text":"/help"}',
    "commands/cancel": b'{"operationId":"o"}',
    "orchestration/dispatch": b'{"command":{"type":"thread.archive","commandId":"c","threadId":"t"}}',
    "orchestration/subscribeThread": b'{"threadId":"t"}',
    "orchestration/unsubscribeThread": b'{"threadId":"t"}',
    "timeline/read": b'{"threadId":"t"}',
    "context/inspect": b'{"threadId": "t"}',
    "context/advice": b'{"threadId": "t"}',
    "context/status": b'{"threadId":"t"}',
    "context/messages/list": b'{"threadId":"t"}',
    "history/search": b'{"query":"words"}',
    "history/read": b'{"threadId":"t","entryId":"h1.1"}',
    "fleet/events": b'{"host":"desk","threadId":"t"}',
    "fleet/execute": b'{"host":"desk","threadId":"t","command":"clear","commandId":"c"}',
    "session/export": b'{"threadId":"t"}',
    "sessions/continue": b'{"sessionId":"t"}',
    "sessions/export": b'{"sessionId":"t"}',
    "sessions/read": b'{"sessionId":"t"}',
    "checkpoint/list": b'{"threadId":"t"}',
    "checkpoint/preview": b'{"threadId":"t"}',
    "checkpoint/diff": b'{"threadId":"t"}',
    "checkpoint/file": b'{"threadId":"t","moment":"1","path":"a"}',
}


def test_a_method_without_a_handler_is_found_before_a_client_asks_for_it() -> None:
    handlers: dict[str, Handler] = dict.fromkeys(METHODS, Handlers(Empty()).handle)
    del handlers["timeline/read"]
    with pytest.raises(AssertionError, match="timeline/read"):
        ExtensionMethods(handlers)


def test_methods_of_codex_are_not_ours() -> None:
    methods = Handlers(Empty()).methods()
    assert not any(
        methods.owns(method) for method in ("thread/start", "rpc.discover", "__class__", "")
    )


@pytest.mark.parametrize("params", [None, b"null", b"{}", b" {} "])
async def test_absent_parameters_are_none_at_all(params: bytes | None) -> None:
    assert (await answered(CommandList(commands=[]), params=params)).error is None


@pytest.mark.parametrize(
    ("method", "params", "names"),
    [
        ("timeline/read", b'{"threadId":"t","limits":3}', "limits"),
        ("timeline/read", b'{"threadId":7}', "threadId"),
        ("timeline/read", b'{"threadId":"t","limit":0}', "limit"),
        ("timeline/read", b'{"threadId":"t","limit":1.5}', "limit"),
        ("timeline/read", b'{"threadId":"t","expand":"some"}', "expand"),
        ("timeline/read", b'{"thread_id":"t"}', "thread_id"),
        ("timeline/read", None, "threadId"),
        ("timeline/read", b"[]", "array"),
        ("timeline/read", b'["t"]', "array"),
        ("orchestration/dispatch", b'{"command":{"type":"thread.nonsense"}}', "thread.nonsense"),
        ("orchestration/dispatch", b'{"command":{"type":"thread.archive","commandId":"","threadId":"t"}}', "commandId"),
        ("orchestration/dispatch", b'{"command":{"type":"thread.context.trim","commandId":"c","threadId":"t","keepLastNTurns":-1}}', "-1|>= 0"),
        ("commands/list", b'{"verbose":true}', "verbose"),
    ],
)  # fmt: skip
async def test_wrong_parameters_are_named_and_the_handler_is_not_called(
    method: str, params: bytes | None, names: str
) -> None:
    handlers = Handlers(Empty())
    answer = await handlers.methods().call(
        method, None if params is None else Raw(params), a_call()
    )
    error = on_the_wire(answer)
    assert (error["code"], error["data"]["reason"]) == (-32602, "invalid_params")
    assert re.search(names, error["message"])
    assert handlers.called == []


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        KeyError(SECRET),
        OSError(2, SECRET),
        AssertionError(SECRET),
        ZeroDivisionError(),
    ],
)
async def test_an_unexpected_error_of_a_handler_stays_out_of_its_answer(error: Exception) -> None:
    with capture_logs() as logs:
        said = on_the_wire(await answered(error))
    assert SECRET not in str(said)
    assert type(error).__name__ not in str(said)
    assert (said["code"], said["data"]["reason"]) == (-32603, "internal")
    assert [(log["event"], log["error_id"], log["exc_info"]) for log in logs] == [
        ("internal_error", said["data"]["errorId"], error)
    ]


async def test_a_refusal_says_what_it_means_to_say() -> None:
    said = on_the_wire(await answered(Refusal(Reason.USAGE, "Not like this.", "Like that.")))
    assert said == {
        "code": -32023,
        "message": "Not like this.",
        "data": {"reason": "usage", "retryable": False, "hint": "Like that."},
    }


async def test_a_refusal_of_the_registry_names_the_blocker() -> None:
    block = BusyReason("turn", "turn-1", 1_764_000_000_000, "running")
    said = on_the_wire(await answered(CommandRefused(Reason.TURN_IN_PROGRESS, "Not now.", block)))
    assert said["data"]["blocker"] == {
        "kind": "turn",
        "id": "turn-1",
        "since": "2025-11-24T16:00:00.000Z",
        "detail": "running",
    }
    assert on_the_wire(await answered(ThreadNotFound("t")))["data"]["reason"] == "thread_not_found"


async def test_a_cancelled_call_stays_cancelled() -> None:
    begun = anyio.Event()

    async def hang(call: Call, params: Any) -> Any:
        begun.set()
        await anyio.sleep_forever()

    methods = ExtensionMethods(dict.fromkeys(METHODS, hang))
    answers: list[Answer] = []

    async def call() -> None:
        answers.append(await methods.call("commands/list", None, a_call()))

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await begun.wait()
            tasks.cancel_scope.cancel()
    assert answers == []


async def test_calls_at_the_same_time_keep_apart() -> None:
    both_in = anyio.Event()
    inside: list[Call] = []

    async def wait_for_the_other(call: Call, params: Any) -> Any:
        inside.append(call)
        if len(inside) == 2:
            both_in.set()
        await both_in.wait()
        return CommandList(commands=[]) if call is inside[0] else Empty()

    methods = ExtensionMethods(dict.fromkeys(METHODS, wait_for_the_other))
    calls = [a_call(), a_call()]
    results: dict[int, Answer] = {}

    async def run(number: int) -> None:
        results[number] = await methods.call("commands/list", None, calls[number])

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, 0)
            tasks.start_soon(run, 1)
    assert isinstance(results[0].result, CommandList)
    assert isinstance(results[1].result, Empty)


def exchange_of(request: bytes) -> tuple[ClientRequest, list[bytes]]:
    fake_client = FakeClient(Clients())
    return client_request(fake_client, request), fake_client.connection.answers


IDS = [
    "1",
    "0",
    "-7",
    '"text"',
    '""',
    "1.5",
    "1e400",
    "null",
    "123456789012345678901234567890",
    '"\\u00e9\\ud83d\\ude00"',
    '"ü"',
]


@pytest.mark.parametrize("request_id", IDS)
@pytest.mark.parametrize("versioned", [False, True])
def test_an_answer_carries_the_id_in_the_very_text_it_came_in(
    request_id: str, versioned: bool
) -> None:
    opening = '{"jsonrpc":"2.0",' if versioned else "{"
    request = f'{opening}"id":{request_id},"method":"m"}}'.encode()
    exchange, sent = exchange_of(request)
    exchange.answer(Empty())
    refused, refusals = exchange_of(request)
    refused.refuse(Refusal(Reason.USAGE, "no"))
    assert sent == [f'{opening}"id":{request_id},"result":{{}}}}'.encode()]
    assert refusals[0].startswith(f'{opening}"id":{request_id},"error":{{'.encode())


def test_a_request_is_answered_once() -> None:
    exchange, sent = exchange_of(b'{"id":1,"method":"m"}')
    exchange.answer(Empty())
    exchange.answer(Empty())
    with capture_logs() as logs:
        exchange.refuse(Refusal(Reason.USAGE, "too late"))
    assert len(sent) == 1
    assert [log["event"] for log in logs] == ["failed_after_its_answer"]


def test_a_result_that_cannot_be_encoded_leaves_room_for_an_error() -> None:
    exchange, sent = exchange_of(b'{"id":1,"method":"m"}')
    with pytest.raises(TypeError) as caught:
        exchange.answer(object())
    exchange.refuse(caught.value)
    assert msgspec.json.decode(sent[0])["error"]["data"]["reason"] == "internal"


def test_only_dispatch_imports_jsonrpcserver() -> None:
    package = Path(trimpoint.__file__).parent
    importers = [
        path
        for path in package.rglob("*.py")
        if re.search(r"^\s*(import|from) jsonrpcserver", path.read_text(), re.MULTILINE)
    ]
    assert [path.relative_to(package) for path in importers] == [
        Path("gateway/session/requests/dispatch.py")
    ]
