"""The commands that clients may dispatch, as they arrive, and the table of errors."""

from typing import Any, get_args

import msgspec
import pytest
from trimpoint_protocol.commands import AnyClientCommand, ClientCommand, TrimContext
from trimpoint_protocol.errors import ERROR_KINDS, Blocker, ErrorData, Reason

decode = msgspec.json.Decoder(AnyClientCommand).decode
ADDRESS = {"commandId": "c", "threadId": "t"}


def command(**members: Any) -> ClientCommand:
    read: ClientCommand = decode(msgspec.json.encode({**ADDRESS, **members}))
    return read


def test_the_commands_of_the_contract_are_known_by_their_names() -> None:
    assert {str(one.__struct_config__.tag) for one in get_args(AnyClientCommand)} >= {
        "thread.context.trim",
        "thread.context.compact",
        "thread.archive-and-new",
        "thread.session.stop",
        "thread.session.start",
        "thread.archive",
        "thread.unarchive",
        "thread.rename",
    }


def test_a_command_reads_its_camel_case_members() -> None:
    read = command(
        type="thread.context.trim", keepLastNTurns=3, summary="s", trigger="x", createdAt="now"
    )
    assert read == TrimContext(
        command_id="c",
        thread_id="t",
        created_at="now",
        keep_last_n_turns=3,
        summary="s",
        trigger="x",
    )


@pytest.mark.parametrize("keep", [-1, 1_000_001, 1.5, "3", True])
@pytest.mark.parametrize("kind", ["thread.context.trim", "thread.context.compact"])
def test_a_number_of_turns_that_is_none_is_refused(kind: str, keep: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match="keepLastNTurns"):
        command(type=kind, keepLastNTurns=keep)


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"type": "thread.context.explode"},
        {"type": "thread.context.trim", "keepLastTurns": 3},
        {"type": "thread.context.trim", "commandId": ""},
        {"type": "thread.context.trim", "threadId": "x" * 257},
        {"type": "thread.rename"},
        {"type": "thread.rename", "name": ""},
    ],
)
def test_a_malformed_command_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        command(**members)


def test_every_reason_has_a_code_and_no_two_of_ours_share_one() -> None:
    assert set(ERROR_KINDS) == set(Reason)
    ours = [kind.code for kind in ERROR_KINDS.values() if -32_099 <= kind.code <= -32_000]
    assert len(ours) == len(set(ours))
    assert all(reason == reason.value == reason.name.lower() for reason in Reason)


def test_an_error_shows_its_blocker_when_there_is_one() -> None:
    blocker = Blocker("turn", "turn-1", "2026-01-01T00:00:00.000Z")
    assert msgspec.to_builtins(ErrorData(Reason.TURN_IN_PROGRESS, True, "Wait.", blocker)) == {
        "reason": "turn_in_progress",
        "retryable": True,
        "hint": "Wait.",
        "blocker": {
            "kind": "turn",
            "id": "turn-1",
            "since": "2026-01-01T00:00:00.000Z",
            "detail": "",
        },
    }
    assert msgspec.to_builtins(ErrorData(Reason.USAGE)) == {
        "reason": "usage",
        "retryable": False,
        "hint": "",
    }
