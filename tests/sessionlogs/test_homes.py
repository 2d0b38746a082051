"""Where sessions are looked for."""

import pwd
from pathlib import Path

import pytest
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.launch_requests import codex_home
from trimpoint.sessionlogs.homes import cache_file, homes_in


def test_a_uid_without_a_home_has_no_sessions_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert homes_in({}).claude == Path("/.claude")
    assert cache_file({}) == Path("/.cache/trimpoint/sessions")
    assert codex_home(LaunchProfile(Path("codex"), ()), {}) == Path("/.codex")
