"""Every client is notified when a thread is archived or unarchived, under the thread's stable
id.
"""

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.lifecycle_notifications import LifecycleNotifications

from tests.core.samples import SAMPLES
from tests.gateway.stage import FakeClient

ARCHIVED = ["thread/status/changed", "thread/archived"]


class Setup:
    def __init__(self) -> None:
        clients = Clients()
        self.announcements = LifecycleNotifications(clients)
        self.fake_client = FakeClient(clients)

    def happens(self, *events: ev.AnyEvent) -> None:
        self.announcements.on_record("t", ev.Record(1, 1, 1, events))


@pytest.mark.parametrize(
    ("event", "methods"),
    [
        (ev.ThreadArchived(), ARCHIVED),
        (ev.ThreadUnarchived(), ["thread/unarchived"]),
        (
            next(sample for sample in SAMPLES if isinstance(sample, ev.ArchivedAndNewCreated)),
            ARCHIVED,
        ),
        (ev.SessionReady(1), []),
    ],
)
def test_every_client_is_notified_of_the_thread(event: ev.AnyEvent, methods: list[str]) -> None:
    setup = Setup()
    setup.happens(event)
    assert setup.fake_client.methods() == methods
    assert all(message["params"]["threadId"] == "t" for message in setup.fake_client.received)


def test_archive_notifications_follow_the_answer_to_their_request() -> None:
    setup = Setup()
    with setup.announcements.deferred("t"):
        setup.happens(ev.ThreadArchived())
        setup.announcements.on_record("u", ev.Record(1, 1, 1, (ev.ThreadUnarchived(),)))
        setup.fake_client.connection.send(msgspec.json.encode({"id": 1, "result": {}}))
    assert setup.fake_client.methods() == [
        "thread/status/changed",
        "thread/unarchived",
        "answer",
        "thread/archived",
    ]


def test_a_request_that_fails_leaves_nothing_unreported() -> None:
    setup = Setup()
    with pytest.raises(ValueError, match="it failed"), setup.announcements.deferred("t"):  # noqa: PT012 - the block is the subject
        setup.happens(ev.ThreadArchived())
        raise ValueError("it failed")
    assert setup.fake_client.methods() == ARCHIVED
    setup.happens(ev.ThreadUnarchived())
    assert setup.fake_client.methods() == [*ARCHIVED, "thread/unarchived"]


def test_two_who_ask_at_once_cause_one_announcement() -> None:
    setup = Setup()
    with setup.announcements.deferred("t"), setup.announcements.deferred("t"):
        setup.happens(ev.ThreadArchived())
    assert setup.fake_client.methods() == ARCHIVED


def test_a_deletion_of_a_thread_is_announced_as_that() -> None:
    setup = Setup()
    with setup.announcements.deferred("t"):
        setup.happens(ev.ThreadArchived(), ev.SessionStopped(1), ev.OperationAdvanced("O", "ready"))
        assert setup.fake_client.methods() == ["thread/status/changed"]
    assert setup.fake_client.received[1:] == [
        {"method": "thread/deleted", "params": {"threadId": "t"}}
    ]
