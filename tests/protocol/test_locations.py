"""Where the daemon and Codex are looked for, by what the environment says."""

import pwd
from pathlib import Path

import pytest
from trimpoint_protocol.locations import (
    HomeUnknown,
    codex_home,
    codex_home_to_ask_for,
    default_socket_path,
    default_state_dir,
    home_or_root,
)


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container with a uid that the list of users does not have."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.parametrize(
    ("environ", "socket"),
    [
        ({"HOME": "/h", "XDG_RUNTIME_DIR": "/run/u"}, "/run/u/trimpoint/trimpoint.sock"),
        ({"HOME": "/h"}, "/h/.local/state/trimpoint/run/trimpoint.sock"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/s"}, "/s/trimpoint/run/trimpoint.sock"),
        ({"HOME": "/h", "XDG_STATE_HOME": "s"}, "/h/.local/state/trimpoint/run/trimpoint.sock"),
    ],
)
def test_the_socket_is_in_the_runtime_directory_or_beside_the_journals(
    environ: dict[str, str], socket: str
) -> None:
    assert default_socket_path(environ) == Path(socket)


@pytest.mark.usefixtures("homeless")
def test_without_a_home_nothing_has_a_place_but_the_root() -> None:
    with pytest.raises(HomeUnknown, match="HOME is not set"):
        default_state_dir({})
    with pytest.raises(HomeUnknown):
        codex_home({})
    assert home_or_root({}) == Path("/")
    assert home_or_root({"HOME": "/h"}) == Path("/h")
    assert codex_home_to_ask_for({}) is None


def test_codexs_usual_home_is_made_and_a_named_one_is_not(tmp_path: Path) -> None:
    named = tmp_path / "named"
    assert codex_home_to_ask_for({"CODEX_HOME": str(named)}) == str(named)
    assert not named.exists()
    assert codex_home_to_ask_for({"HOME": str(tmp_path)}) == str(tmp_path / ".codex")
    assert (tmp_path / ".codex").is_dir()
