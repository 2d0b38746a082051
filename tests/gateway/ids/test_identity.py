"""What clients are shown of ids and names that Codex has and they do not."""

from types import SimpleNamespace
from typing import cast

import pytest
from trimpoint.gateway.ids.identity import Identity
from trimpoint.threads.registry import ThreadRegistry

METHOD = "item/agentMessage/delta"
THREAD, TURN = "01a21fb5-0000-7000-8000-000000000001", "01a21fb5-0000-7000-8000-000000000002"
OWN_THREAD, OWN_TURN = (
    "01a21fb5-0000-7000-8000-00000000000a",
    "01a21fb5-0000-7000-8000-00000000000b",
)
RENAMED = {THREAD: OWN_THREAD, TURN: OWN_TURN}


def delta(turn_id: str, text: str) -> bytes:
    return (
        f'{{"method":"{METHOD}","params":{{"threadId":"{THREAD}","turnId":"{turn_id}",'
        f'"itemId":"m","delta":"{text}"}}}}'
    ).encode()


@pytest.mark.parametrize("retried", [{}, {OWN_TURN: TURN}], ids=["no turn", "a turn"])
def test_a_run_of_deltas_shows_what_each_would_show_after_a_retry_of(
    retried: dict[str, str],
) -> None:
    registry = SimpleNamespace(renamed=RENAMED, retried=retried, owner_of=RENAMED.get)
    identity = Identity(cast("ThreadRegistry", registry))
    lines = [delta(TURN, "a"), delta("another", THREAD), delta(TURN, "b")]
    assert identity.run_to_client(METHOD, lines).split(b"\n") == [
        identity.notification_to_client(METHOD, line) for line in lines
    ]


def test_the_name_that_a_fork_has_for_an_operation_of_ours_is_not_shown() -> None:
    registry = SimpleNamespace(renamed=RENAMED, retried={}, owner_of=RENAMED.get)
    identity = Identity(cast("ThreadRegistry", registry))
    quoted = r'"preview":"\"threadSource\":\"trimpoint-1\""'
    thread = f'{{"id":"{THREAD}","threadSource":"trimpoint-{TURN}",{quoted}}}'
    shown = f'{{"id":"{OWN_THREAD}","threadSource":null,{quoted}}}'
    assert identity.to_client(thread.encode()) == shown.encode()
    assert identity.to_client(shown.encode()) == shown.encode()
