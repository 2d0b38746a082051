"""Notifications that Codex sends to a new connection reach every client, however late it
connects.
"""

import msgspec
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.startup_notifications import MAX_WARNINGS, StartupNotifications

from tests.gateway.stage import FakeClient


def line(method: str, text: str) -> bytes:
    return msgspec.json.encode({"method": method, "params": {"summary": text}})


def told(greetings: StartupNotifications, fake_client: FakeClient | None = None) -> list[str]:
    fake_client = fake_client or FakeClient(Clients())
    greetings.to(fake_client.client)
    return [message["params"]["summary"] for message in fake_client.received]


def test_warnings_are_all_kept_and_of_a_status_the_newest() -> None:
    greetings = StartupNotifications()
    for method, text in (
        ("configWarning", "no sandbox"), ("remoteControl/status/changed", "off"), ("configWarning", "unknown key"),
        ("configWarning", "no sandbox"), ("remoteControl/status/changed", "on"), ("account/updated", "somebody"),
    ):  # fmt: skip
        greetings.note(method, line(method, text))
    assert told(greetings) == ["no sandbox", "on", "unknown key"]
    assert told(greetings) == ["no sandbox", "on", "unknown key"]


def test_startup_notifications_respect_an_opt_out() -> None:
    greetings = StartupNotifications()
    greetings.note("configWarning", line("configWarning", "no sandbox"))
    assert told(greetings, FakeClient(Clients(), opted_out=frozenset({"configWarning"}))) == []


def test_startup_notifications_are_those_of_the_present_codex_and_bounded() -> None:
    greetings = StartupNotifications()
    for number in range(2 * MAX_WARNINGS):
        greetings.note("configWarning", line("configWarning", str(number)))
    assert len(told(greetings)) == MAX_WARNINGS
    greetings.forget()
    assert told(greetings) == []
