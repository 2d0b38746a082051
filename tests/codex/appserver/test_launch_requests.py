"""Launch requests of clients, and the launch profiles that result from them."""

from pathlib import Path

import pytest
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.launch_requests import (
    LaunchRequest,
    codex_home,
    decode_launch_request,
    resolve_launch,
)

OWN = LaunchProfile(
    Path("/opt/codex"),
    ("model=a", "tools.web=true", "model=b"),
    environment=(("CODEX_HOME", "/own"), ("KEY", "k")),
)
NOTHING: dict[str, str] = {}


def resolved(*overrides: str, codex: str | None = None, home: str | None = None) -> LaunchProfile:
    return resolve_launch(OWN, LaunchRequest(overrides, codex, home), NOTHING)


@pytest.mark.parametrize("asked", [(), ("model=b",), ("tools.web=true", "model=b")])
def test_a_request_for_settings_already_in_force_gives_the_daemons_own_profile(
    asked: tuple[str, ...],
) -> None:
    assert resolved(*asked, codex="/opt/codex", home="/own") == OWN


@pytest.mark.parametrize(
    ("asked", "added"),
    [
        (("model=a",), ("model=a",)),
        (("model=c", "model=b"), ("model=c", "model=b")),
        (("tools={web=true}",), ("tools={web=true}",)),
        (("tools={}", "tools.web=true"), ("tools={}", "tools.web=true")),
        (("model_provider=b",), ("model_provider=b",)),
        (("model=b", "tools.view=true"), ("tools.view=true",)),
    ],
)
def test_overrides_come_after_the_daemons_own_unless_they_say_what_holds(
    asked: tuple[str, ...], added: tuple[str, ...]
) -> None:
    assert resolved(*asked).overrides == OWN.overrides + added


def test_another_home_takes_the_place_of_the_daemons() -> None:
    profile = resolved(home="/other")
    assert profile.environment == (("KEY", "k"),)
    assert codex_home(profile, NOTHING) == Path("/other")
    assert codex_home(OWN, NOTHING) == Path("/own")
    assert codex_home(LaunchProfile(Path("/codex")), {"HOME": "/home/me"}) == Path(
        "/home/me/.codex"
    )


def test_another_binary_is_another_profile() -> None:
    profile = resolved(codex="/opt/other")
    assert profile.codex == Path("/opt/other")
    assert profile.key != OWN.key


def test_a_home_behind_a_link_is_the_same_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "home")
    own = LaunchProfile(Path("/codex"), codex_home=tmp_path / "home")
    request = LaunchRequest(codex_home=str(tmp_path / "link"))
    assert resolve_launch(own, request, NOTHING) == own


@pytest.mark.parametrize(
    "request_", [LaunchRequest(), LaunchRequest(("a=b",), "/opt/codex", "/home")]
)
def test_a_request_is_read_back_as_it_was_written(request_: LaunchRequest) -> None:
    assert decode_launch_request(request_.encode()) == request_


def test_asking_for_nothing_takes_no_place_in_a_journal() -> None:
    assert LaunchRequest().encode() == b""
