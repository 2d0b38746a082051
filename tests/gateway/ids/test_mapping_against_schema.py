"""Thread ids in the protocol that the binary describes: every member for an id is replaced, and no
other (docs/spec/clients.md).

A member that a newer Codex adds fails here until it is added to the tables. Each member is tested
alone: the smallest message with it is passed through the gateway's translation.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import msgspec
import pytest
from trimpoint.gateway.commands.typed_commands import INTO_A_TURN
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.ids.idmap import CONTENT_MEMBERS, CURSOR_MEMBERS, ID_MEMBERS, TURN_ID_MEMBERS
from trimpoint.threads.registry import ThreadRegistry

from tests.e2e.conftest import CODEX_BIN
from tests.gateway.codex_schema import CodexSchema, Place

pytestmark = pytest.mark.codex

STABLE, PROVIDER = "01900000-0000-7000-8000-000000000001", "01a00000-0000-7000-8000-000000000001"

NAMED_AS_ID = re.compile(r"thread_?ids?$|^conversation_?id$", re.IGNORECASE)
NAMED_AS_TURN = re.compile(r"turn_?ids?$", re.IGNORECASE)
SAID_TO_BE_ID = re.compile(r"thread ids?\b", re.IGNORECASE)
# Ids of threads under names that do not say so: (definition, member).
ALSO_IDS = {
    ("Thread", "id"),
    ("Thread", "sessionId"),
    ("Thread", "forkedFromId"),
    ("ProjectImportParams", "threads"),
}
KEYED_BY_THREAD = {"agentsStates", "readStates"}
# Ids that the tables leave alone, and who sees to them.
ELSEWHERE = {("ThreadLoadedListResponse", "data"): "ThreadLists, which hides retired threads too"}
# Turns as the model's own items name them; nothing in those is changed.
IN_RAW_ITEMS = {("InternalChatMessageMetadataPassthrough", "turn_id")}
# Not ids, though their description speaks of one.
ABOUT_IDS = {("ListMcpServerStatusParams", "serverName")}
# JSON of any shape that Codex writes by itself, and people, models and tools do not: entered, so
# that no id in it leaks.
CODEX_S_OWN = {("Thread", "extra"), ("TurnError", "codexErrorInfo")}


class Tried(NamedTuple):
    """A member, and a function that translates a message with a value in it as the gateway does."""

    place: Place
    forward: Callable[[Any], Any]
    to_codex: bool

    @property
    def old_id(self) -> str:
        return STABLE if self.to_codex else PROVIDER

    @property
    def new_id(self) -> str:
        return PROVIDER if self.to_codex else STABLE

    def comes_out_as(self, value: Any, expected: Any) -> bool:
        return bool(self.forward(self.place.message(value)) == self.place.message(expected))


def identity() -> Identity:
    """Returns an identity with one known thread, which is served by a provider thread with another
    id.
    """
    summary = SimpleNamespace(provider_thread_ids=[PROVIDER])
    known = {PROVIDER: STABLE}
    registry = SimpleNamespace(
        renamed=known, retried=known, summaries={STABLE: summary}, loaded=known.get
    )
    return Identity(cast("ThreadRegistry", registry))


def request_through(method: str, params: Any) -> Any:
    return msgspec.json.decode(identity().to_provider(msgspec.json.encode(params), method))


def notification_through(method: str, params: Any) -> Any:
    line = msgspec.json.encode({"method": method, "params": params})
    return msgspec.json.decode(identity().notification_to_client(method, line))["params"]


def through_to_client(message: Any) -> Any:
    return msgspec.json.decode(identity().to_client(msgspec.json.encode(message)))


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> CodexSchema:
    return CodexSchema.of(str(CODEX_BIN), tmp_path_factory.mktemp("schema"))


@pytest.fixture(scope="session")
def tried(schema: CodexSchema) -> list[Tried]:
    return list(everything(schema))


def everything(schema: CodexSchema) -> Iterator[Tried]:
    def places(of: Any, owner: str) -> Iterator[Place]:
        return schema.places(of, owner, CONTENT_MEMBERS)

    for method, params in schema.messages("ClientRequest").items():
        yield from (
            Tried(place, partial(request_through, method), True) for place in places(params, method)
        )
    for method, params in schema.messages("ServerNotification").items():
        yield from (
            Tried(place, partial(notification_through, method), False)
            for place in places(params, method)
        )
    answers, _ = schema.answers()
    for name, message in (answers | schema.messages("ServerRequest")).items():
        yield from (Tried(place, through_to_client, False) for place in places(message, name))


def holds_ids(place: Place) -> bool:
    texts = place.kinds & {"string", "[string]"}
    named = NAMED_AS_ID.search(place.name) or (place.owner, place.name) in ALSO_IDS
    said = SAID_TO_BE_ID.search(place.description) and (place.owner, place.name) not in ABOUT_IDS
    return bool(texts and (named or said))


def names_a_turn(place: Place) -> bool:
    return bool(place.kinds & {"string", "[string]"} and NAMED_AS_TURN.search(place.name))


def is_free(place: Place) -> bool:
    return (
        any("any" in kind or kind.startswith("{") for kind in place.kinds)
        and place.name not in KEYED_BY_THREAD
    )


def names(failed: list[Tried]) -> set[tuple[str, str]]:
    return {(one.place.owner, one.place.name) for one in failed}


def test_every_id_of_a_thread_is_exchanged(tried: list[Tried]) -> None:
    ids = [one for one in tried if holds_ids(one.place)]
    missed = [
        one
        for one in ids
        if "string" in one.place.kinds and not one.comes_out_as(one.old_id, one.new_id)
    ]
    missed += [
        one
        for one in ids
        if "[string]" in one.place.kinds and not one.comes_out_as([one.old_id], [one.new_id])
    ]
    assert names(missed) - ELSEWHERE.keys() == set()
    assert len(names(ids)) > 50


def test_every_id_of_a_turn_is_exchanged(tried: list[Tried]) -> None:
    ids = [one for one in tried if names_a_turn(one.place)]
    assert (
        names([one for one in ids if not one.comes_out_as(one.old_id, one.new_id)]) == IN_RAW_ITEMS
    )
    assert {one.place.name for one in ids} >= {
        "turnId",
        "expectedTurnId",
        "beforeTurnId",
        "lastTurnId",
    }


def test_maps_that_are_keyed_by_thread_are_keyed_by_the_other_id(tried: list[Tried]) -> None:
    maps = [
        one
        for one in tried
        if one.place.name in KEYED_BY_THREAD or re.search("keyed by thread", one.place.description)
    ]
    assert names(maps) >= {("ThreadItem", "agentsStates")}
    assert [one for one in maps if not one.comes_out_as({one.old_id: {}}, {one.new_id: {}})] == []


def test_free_content_comes_out_as_it_went_in(tried: list[Tried]) -> None:
    free = [one for one in tried if is_free(one.place)]
    touched: list[Tried] = []
    for one in free:
        content = {
            "threadId": one.old_id,
            "id": one.old_id,
            "threadIds": [one.old_id],
            one.old_id: {"threadId": one.old_id},
        }
        touched += [one for value in (content, [content]) if not one.comes_out_as(value, value)]
    assert names(touched) - CODEX_S_OWN == set()
    assert len(names(free)) > 10


def test_text_that_is_an_id_as_a_whole_stays_text(tried: list[Tried]) -> None:
    exchanged = ID_MEMBERS | TURN_ID_MEMBERS | CURSOR_MEMBERS
    texts = [
        one for one in tried if one.place.kinds & {"string"} and one.place.name not in exchanged
    ]
    assert names([one for one in texts if not one.comes_out_as(one.old_id, one.old_id)]) == set()


def test_ids_inside_opaque_cursors_are_rewritten(tried: list[Tried]) -> None:
    cursors = [
        one
        for one in tried
        if one.place.name.endswith(("Cursor", "cursor")) and "string" in one.place.kinds
    ]
    inside = '{{"requestedThreadId":"{}"}}'.format
    assert (
        names(
            [one for one in cursors if not one.comes_out_as(inside(one.old_id), inside(one.new_id))]
        )
        == set()
    )


def test_a_delta_names_one_thread_and_at_its_top(schema: CodexSchema) -> None:
    deltas = {
        method: of
        for method, of in schema.messages("ServerNotification").items()
        if method.endswith(("delta", "Delta"))
    }
    paths = {
        place.path
        for method, of in deltas.items()
        for place in schema.places(of, method, frozenset())
        if holds_ids(place)
    }
    assert paths == {("threadId",)}
    turns = {
        place.path
        for method, of in deltas.items()
        for place in schema.places(of, method, frozenset())
        if names_a_turn(place)
    }
    assert turns == {("turnId",)}


def test_answers_of_clients_to_codex_contain_no_thread_ids(schema: CodexSchema) -> None:
    _, theirs = schema.answers()
    assert theirs
    assert [
        place
        for name, of in theirs.items()
        for place in schema.places(of, name, frozenset())
        if holds_ids(place)
    ] == []


def test_every_method_that_brings_input_looks_for_commands_in_it(schema: CodexSchema) -> None:
    brings_input = {
        method
        for method, params in schema.messages("ClientRequest").items()
        if any(place.path == ("input",) for place in schema.places(params, method, frozenset()))
    }
    assert brings_input <= {"turn/start", *INTO_A_TURN}
