"""The JSON Schema says what is sent and taken: messages of every kind are held against it."""

from typing import Any, get_args

import msgspec
import pytest
from trimpoint.core.model.events import AnyEvent, Record
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.view import envelopes
from trimpoint.core.views.wire_events import payload_types
from trimpoint.gateway.session.requests.errors import wire_error
from trimpoint.sessionlogs.export import document
from trimpoint_protocol import schema
from trimpoint_protocol.commands import AnyClientCommand, TrimContext
from trimpoint_protocol.errors import ERROR_KINDS, Blocker, Reason
from trimpoint_protocol.methods import METHODS, NOTIFICATIONS, CommandProgress, Synchronized

from tests.core.samples import SAMPLES, SECRET
from tests.protocol.json_schema import problems, references
from tests.sessionlogs.sessions import FIXTURES, lines_of, sessions_in

DOCUMENTS = schema.documents(payload_types())
KINDS = [name for name in DOCUMENTS if name != "index.json"]
ADDRESS = {"commandId": "c", "threadId": "t"}


def found_in(file: str, message: Any) -> list[str]:
    return list(
        problems(
            msgspec.json.decode(msgspec.json.encode(message)), DOCUMENTS[file], DOCUMENTS[file]
        )
    )


def envelope(event: AnyEvent) -> dict[str, Any]:
    [shown] = envelopes(
        ThreadState(id="thread"), Record(7, 3, 1_764_000_000_000, (event,), "command")
    )
    sent: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(shown))
    return sent


def test_the_same_registry_makes_the_same_bytes() -> None:
    again = schema.documents(payload_types())
    assert [schema.encode(one) for one in again.values()] == [
        schema.encode(one) for one in DOCUMENTS.values()
    ]
    assert list(again) == list(DOCUMENTS)


@pytest.mark.parametrize("file", KINDS)
def test_a_document_is_whole_in_itself(file: str) -> None:
    document = DOCUMENTS[file]
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(references(document)) == {f"#/$defs/{name}" for name in document["$defs"]}
    assert msgspec.json.decode(schema.encode(document)) == document


def test_every_row_of_the_registry_is_there() -> None:
    assert [one["title"] for one in DOCUMENTS["methods.json"]["oneOf"]] == list(METHODS)
    assert list(DOCUMENTS["methods.json"]["results"]) == list(METHODS)
    assert [one["title"] for one in DOCUMENTS["notifications.json"]["oneOf"]] == list(NOTIFICATIONS)
    tags = {str(command.__struct_config__.tag) for command in get_args(AnyClientCommand)}
    assert DOCUMENTS["commands.json"]["discriminator"]["mapping"].keys() == tags
    assert [one["title"] for one in DOCUMENTS["events.json"]["oneOf"]] == [
        kind.__struct_config__.tag for kind in get_args(AnyEvent)
    ]
    assert DOCUMENTS["errors.json"]["reasons"].keys() == set(Reason)
    assert list(DOCUMENTS["index.json"]["files"]) == KINDS


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_is_sent_as_its_schema_says(event: AnyEvent) -> None:
    sent = envelope(event)
    assert found_in("events.json", sent) == []
    payload = DOCUMENTS["events.json"]["$defs"][type(event).__name__]
    assert list(payload["properties"]) == list(sent["payload"])
    assert payload.get("required", []) == list(sent["payload"])
    assert SECRET not in str(sent)


def test_an_event_of_another_shape_is_not_what_the_schema_says() -> None:
    sent = envelope(SAMPLES[0])
    assert found_in("events.json", {**sent, "type": "thread.exploded"})
    assert found_in("events.json", {**sent, "payload": {**sent["payload"], "cwd": None}})
    assert found_in(
        "events.json", {name: value for name, value in sent.items() if name != "occurredAt"}
    )


def test_a_point_in_time_is_a_date_and_time() -> None:
    point = DOCUMENTS["events.json"]["$defs"]["TrimPointCreated"]["properties"]
    assert point["createdAt"] == {"type": "string", "format": "date-time"}
    assert "createdAtMs" not in point


def test_descriptions_of_events_speak_of_them_as_clients_see_them() -> None:
    words = " ".join(one["description"] for one in DOCUMENTS["events.json"]["oneOf"])
    assert "`turnIds` are the kept" in words
    assert not {"None", "True", "False", "`turn_ids`"} & set(words.split())


@pytest.mark.parametrize(
    ("command", "fits"),
    [
        ({"type": "thread.context.trim", **ADDRESS, "keepLastNTurns": 3}, True),
        ({"type": "thread.rename", **ADDRESS, "name": "n"}, True),
        ({"type": "thread.context.trim", **ADDRESS, "keepLastNTurns": -1}, False),
        ({"type": "thread.context.trim", **ADDRESS, "keep": 1}, False),
        ({"type": "thread.rename", **ADDRESS}, False),
        ({"type": "thread.explode", **ADDRESS}, False),
    ],
)
def test_a_command_fits_its_schema_exactly_when_it_is_taken(
    command: dict[str, Any], fits: bool
) -> None:
    assert (found_in("commands.json", command) == []) is fits
    dispatch = {"id": 1, "method": "orchestration/dispatch", "params": {"command": command}}
    assert (found_in("methods.json", dispatch) == []) is fits


@pytest.mark.parametrize(
    ("request_", "fits"),
    [
        ({"id": "a", "method": "commands/list"}, True),
        (
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "timeline/read",
                "params": {"threadId": "t", "expand": "all", "limit": 5},
            },
            True,
        ),
        ({"id": 1, "method": "timeline/read"}, False),
        ({"id": 1, "method": "timeline/read", "params": {"threadId": "t", "limit": 0}}, False),
        ({"method": "commands/list"}, False),
        ({"id": 1, "method": "thread/start", "params": {}}, False),
    ],
)
def test_a_request_fits_its_schema_exactly_when_it_is_ours(
    request_: dict[str, Any], fits: bool
) -> None:
    assert (found_in("methods.json", request_) == []) is fits


def test_notifications_fit_their_schema() -> None:
    progress = CommandProgress(
        thread_id="t", command="clear", phase="starting", message="m", operation_id="o"
    )
    done = Synchronized(thread_id="t", sequence=1)
    assert found_in("notifications.json", {"method": "commands/progress", "params": progress}) == []
    assert (
        found_in("notifications.json", {"method": "orchestration/synchronized", "params": done})
        == []
    )
    assert (
        found_in(
            "notifications.json", {"method": "orchestration/event", "params": envelope(SAMPLES[0])}
        )
        == []
    )
    assert found_in("notifications.json", {"method": "commands/progress", "params": done})


@pytest.mark.parametrize("reason", Reason)
def test_an_error_fits_its_schema_and_the_table(reason: Reason) -> None:
    error = wire_error(reason, "m", blocker=Blocker("turn", "1", "2026-01-31T09:05:00.250Z"))
    sent = {"code": error.code, "message": error.message, "data": error.data}
    assert found_in("errors.json", sent) == []
    assert DOCUMENTS["errors.json"]["reasons"][reason] == {
        "code": error.code,
        "retryable": ERROR_KINDS[reason].retryable,
    }


def test_a_command_fits_as_our_own_types_encode_it() -> None:
    assert found_in("commands.json", TrimContext(command_id="c", thread_id="t")) == []


@pytest.mark.parametrize("scene", ["codex-0.171.0/forked", "claude-code-2.1.332/branched"])
def test_sessions_of_all_agents_are_as_the_schema_says(scene: str) -> None:
    for session in sessions_in(FIXTURES / scene):
        for line in lines_of(session):
            assert found_in("records.json", line) == []
        whole = msgspec.json.decode(b"".join(document(session, include_compacted=True)))
        definitions = DOCUMENTS["records.json"]
        assert list(problems(whole, definitions["document"], definitions)) == []


def test_a_record_without_a_member_is_none() -> None:
    [session] = sessions_in(FIXTURES / "gemini-cli-0.61.0" / "resumed")
    *_, end = lines_of(session)
    assert found_in("records.json", {**end, "digest": None}) != []


def test_the_members_of_a_union_are_in_one_order_whatever_order_they_come_in() -> None:
    (one,), _ = schema.components([str | list[int] | int | None])
    (other,), _ = schema.components([None | int | list[int] | str])
    assert one == other
    assert one["anyOf"][-1] == {"type": "null"}


def test_the_variants_of_a_discriminated_union_are_sorted_by_their_tag() -> None:
    (union,), _ = schema.components([AnyClientCommand])
    tags = list(union["discriminator"]["mapping"])
    assert tags == sorted(tags)
