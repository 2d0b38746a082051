"""What Codex tells a new connection is told to every client, however late it comes."""

import msgspec
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.startup_notifications import MAX_WARNINGS, Greetings

from tests.gateway.stage import Guest


def line(method: str, text: str) -> bytes:
    return msgspec.json.encode({"method": method, "params": {"summary": text}})


def told(greetings: Greetings, guest: Guest | None = None) -> list[str]:
    guest = guest or Guest(Clients())
    greetings.to(guest.client)
    return [message["params"]["summary"] for message in guest.heard]


def test_warnings_are_all_kept_and_of_a_status_the_newest() -> None:
    greetings = Greetings()
    for method, text in (
        ("configWarning", "no sandbox"), ("remoteControl/status/changed", "off"), ("configWarning", "unknown key"),
        ("configWarning", "no sandbox"), ("remoteControl/status/changed", "on"), ("account/updated", "somebody"),
    ):  # fmt: skip
        greetings.note(method, line(method, text))
    assert told(greetings) == ["no sandbox", "on", "unknown key"]
    assert told(greetings) == ["no sandbox", "on", "unknown key"]


def test_who_opted_out_is_spared() -> None:
    greetings = Greetings()
    greetings.note("configWarning", line("configWarning", "no sandbox"))
    assert told(greetings, Guest(Clients(), opted_out=frozenset({"configWarning"}))) == []


def test_they_are_those_of_the_present_codex_and_not_without_number() -> None:
    greetings = Greetings()
    for number in range(2 * MAX_WARNINGS):
        greetings.note("configWarning", line("configWarning", str(number)))
    assert len(told(greetings)) == MAX_WARNINGS
    greetings.forget()
    assert told(greetings) == []
