"""That a thread is put away or brought back is told to every client, of the thread and not of its lives in Codex."""

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.lifecycle_notifications import Announcements

from tests.core.samples import SAMPLES
from tests.gateway.stage import Guest

ARCHIVED = ["thread/status/changed", "thread/archived"]


class Scene:
    def __init__(self) -> None:
        clients = Clients()
        self.announcements = Announcements(clients)
        self.guest = Guest(clients)

    def happens(self, *events: ev.AnyEvent) -> None:
        self.announcements.on_record("t", ev.Record(1, 1, 1, events))


@pytest.mark.parametrize(
    ("event", "methods"),
    [
        (ev.ThreadArchived(), ARCHIVED),
        (ev.ThreadUnarchived(), ["thread/unarchived"]),
        (next(sample for sample in SAMPLES if isinstance(sample, ev.ArchivedAndNewCreated)), ARCHIVED),
        (ev.SessionReady(1), []),
    ],
)
def test_everyone_is_told_of_the_thread(event: ev.AnyEvent, methods: list[str]) -> None:
    scene = Scene()
    scene.happens(event)
    assert scene.guest.methods() == methods
    assert all(message["params"]["threadId"] == "t" for message in scene.guest.heard)


def test_who_asked_for_it_is_answered_first() -> None:
    scene = Scene()
    with scene.announcements.held("t"):
        scene.happens(ev.ThreadArchived())
        scene.announcements.on_record("u", ev.Record(1, 1, 1, (ev.ThreadUnarchived(),)))
        scene.guest.connection.send(msgspec.json.encode({"id": 1, "result": {}}))
    assert scene.guest.methods() == ["thread/status/changed", "thread/unarchived", "answer", "thread/archived"]


def test_a_request_that_fails_leaves_nothing_untold() -> None:
    scene = Scene()
    with pytest.raises(ValueError, match="it failed"), scene.announcements.held("t"):  # noqa: PT012 - the block is the subject
        scene.happens(ev.ThreadArchived())
        raise ValueError("it failed")
    assert scene.guest.methods() == ARCHIVED
    scene.happens(ev.ThreadUnarchived())
    assert scene.guest.methods() == [*ARCHIVED, "thread/unarchived"]


def test_what_is_taken_out_meanwhile_is_not_said() -> None:
    scene = Scene()
    with scene.announcements.held("t") as untold:
        scene.happens(ev.ThreadArchived())
        untold.clear()
    assert scene.guest.methods() == ["thread/status/changed"]


def test_two_who_ask_at_once_cause_one_announcement() -> None:
    scene = Scene()
    with scene.announcements.held("t"), scene.announcements.held("t"):
        scene.happens(ev.ThreadArchived())
    assert scene.guest.methods() == ARCHIVED


def test_a_deleted_thread_is_said_to_be() -> None:
    scene = Scene()
    scene.announcements.deleted("t")
    assert scene.guest.heard == [{"method": "thread/deleted", "params": {"threadId": "t"}}]
