"""Which clients receive a notification: subscriptions, raw events, opting out and dialects; and
that it is encoded once for all.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.gateway.session.clients import BROADCAST_METHODS, RAW_EVENTS, Clients, Delivery

from tests.gateway.stage import FakeClient

DELTA = "item/agentMessage/delta"


def say(clients: Clients, method: str, thread_id: str | None = "t") -> None:
    clients.broadcast(
        thread_id,
        method,
        lambda: msgspec.json.encode({"method": method, "params": {"threadId": thread_id}}),
    )


def test_news_of_a_thread_reach_those_who_take_part_in_it() -> None:
    clients = Clients()
    taking_part, elsewhere, nowhere = (
        FakeClient(clients, "t", "u"),
        FakeClient(clients, "u"),
        FakeClient(clients),
    )
    say(clients, DELTA)
    assert (taking_part.methods(), elsewhere.methods(), nowhere.methods()) == ([DELTA], [], [])


@pytest.mark.parametrize("method", sorted(BROADCAST_METHODS))
def test_the_life_of_threads_is_everyones_affair(method: str) -> None:
    clients = Clients()
    taking_part, elsewhere = FakeClient(clients, "t"), FakeClient(clients)
    say(clients, method)
    assert taking_part.methods() == elsewhere.methods() == [method]


def test_a_notification_about_no_thread_reaches_every_client() -> None:
    clients = Clients()
    guests = [FakeClient(clients, "t"), FakeClient(clients)]
    say(clients, "account/updated", None)
    assert [fake_client.methods() for fake_client in guests] == [["account/updated"]] * 2


@pytest.mark.parametrize("method", [DELTA, "thread/started", "account/updated"])
def test_clients_receive_nothing_before_the_handshake(method: str) -> None:
    clients = Clients()
    fake_client = FakeClient(clients, "t", initialized=False)
    say(clients, method)
    fake_client.client.introduce("late", frozenset())
    assert fake_client.received == []
    say(clients, method)
    assert fake_client.methods() == [method]


@pytest.mark.parametrize("method", sorted(RAW_EVENTS))
def test_raw_events_reach_only_those_who_asked_for_them(method: str) -> None:
    clients = Clients()
    asked, did_not, of_another = (
        FakeClient(clients),
        FakeClient(clients, "t"),
        FakeClient(clients, "t"),
    )
    clients.join(asked.client, "t", raw_events=True)
    clients.join(of_another.client, "u", raw_events=True)
    say(clients, method)
    say(clients, method, None)
    assert (asked.methods(), did_not.methods(), of_another.methods()) == ([method], [], [])


def test_an_opt_out_suppresses_exactly_the_named_notifications() -> None:
    clients = Clients()
    fake_client = FakeClient(
        clients, "t", opted_out=frozenset({DELTA, "thread/started", "commands/progress"})
    )
    for method in (DELTA, "thread/started", "turn/completed"):
        say(clients, method)
    fake_client.client.notify("commands/progress", {})
    fake_client.client.notify("orchestration/event", {})
    assert fake_client.methods() == ["turn/completed", "orchestration/event"]


def test_a_client_that_leaves_or_disconnects_gets_no_more() -> None:
    clients = Clients()
    leaver, goer = FakeClient(clients, "t"), FakeClient(clients, "t")
    clients.join(leaver.client, "t", raw_events=True)
    say(clients, DELTA)
    leaver.client.leave("t")
    clients.remove(goer.client)
    say(clients, DELTA)
    say(clients, "rawResponse/completed")
    assert (leaver.methods(), goer.methods()) == ([DELTA], [DELTA])
    clients.join(leaver.client, "t")
    say(clients, "rawResponse/completed")
    assert leaver.methods() == [DELTA]


def test_a_client_that_joins_later_gets_events_from_then_on() -> None:
    clients = Clients()
    say(clients, DELTA)
    say(clients, "thread/started")
    fake_client = FakeClient(clients, "t")
    say(clients, DELTA)
    say(clients, "thread/started")
    assert fake_client.methods() == [DELTA, "thread/started"]


def test_a_notification_is_made_once_whatever_the_number_of_clients() -> None:
    clients = Clients()
    guests = [FakeClient(clients, "t") for _ in range(5)]
    for fake_client in guests[3:]:
        fake_client.connection.versioned = True
    made: list[bytes] = []

    def make() -> bytes:
        made.append(msgspec.json.encode({"method": DELTA, "params": {}}))
        return made[-1]

    clients.broadcast("t", DELTA, make)
    assert len(made) == 1
    assert len({id(fake_client.connection.lines[0]) for fake_client in guests}) == 2
    assert [fake_client.received[0].get("jsonrpc") for fake_client in guests] == [
        None,
        None,
        None,
        "2.0",
        "2.0",
    ]


def test_a_notification_without_a_subscriber_is_not_encoded() -> None:
    clients = Clients()
    FakeClient(clients, "u")
    clients.broadcast("t", DELTA, lambda: pytest.fail("made for nobody"))


# Small ones: hypothesis takes most of a second to draw a large one.
VALUES = st.recursive(
    st.none() | st.text(max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), VALUES, min_size=1, max_size=6))
def test_the_versioned_line_says_the_same_and_the_version(message: dict[str, object]) -> None:
    message.pop("jsonrpc", None)
    message["method"] = DELTA
    fake_client = FakeClient(Clients())
    fake_client.connection.versioned = True
    Delivery(DELTA, lambda: msgspec.json.encode(message)).to([fake_client.client])
    assert fake_client.received == [{"jsonrpc": "2.0", **message}]


def test_a_run_of_notifications_is_handed_over_in_one_piece_and_each_gets_the_version() -> None:
    clients = Clients()
    plain, versioned = FakeClient(clients, "t"), FakeClient(clients, "t")
    versioned.connection.versioned = True
    run = [{"method": DELTA, "params": {"delta": text}} for text in ("{", "\n{", "")]
    clients.broadcast("t", DELTA, lambda: b"\n".join(map(msgspec.json.encode, run)))
    assert len(plain.connection.lines) == len(versioned.connection.lines) == 1
    assert plain.received == run
    assert versioned.received == [{"jsonrpc": "2.0", **message} for message in run]


def test_a_thread_that_no_client_opened_has_no_owner() -> None:
    clients = Clients()
    fake_client = FakeClient(clients, "mine")
    assert clients.is_private("mine")
    assert not clients.is_private("a sub-agent's")
    assert not clients.is_private(None)
    clients.remove(fake_client.client)
    assert clients.is_private("mine")


def test_only_those_who_take_part_may_answer_and_only_followers_get_events() -> None:
    clients = Clients()
    one, two, silent = (
        FakeClient(clients, "t"),
        FakeClient(clients),
        FakeClient(clients, "t", initialized=False),
    )
    two.client.followed["t"] = 0
    assert clients.subscribers("t") == [one.client]
    assert clients.followers("t") == [two.client]
    assert clients.all() == [one.client, two.client, silent.client]
    assert len(clients) == 3
