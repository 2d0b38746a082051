"""Where a test's Codex lives and what it is told: folder, environment, command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from trimpoint.testkit import codex_environment, config_flags, throwaway_codex_home


async def test_a_throwaway_home_is_gone_afterwards() -> None:
    async with throwaway_codex_home() as home:
        (home / "left-over").touch()
        assert not home.is_relative_to(os.environ.get("TMPDIR") or "/tmp")
    assert not home.exists()


async def test_a_home_where_codex_would_refuse_its_helpers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(ValueError, match="helpers"):
        async with throwaway_codex_home(tmp_path / "homes"):
            pass


async def test_without_a_parent_the_home_is_in_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    async with throwaway_codex_home() as home:
        assert home.parent == tmp_path / "cache" / "trimpoint-testkit"


def test_the_environment_has_no_keys_and_keeps_loopback_off_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "real")
    monkeypatch.setenv("CODEX_HOME", "real")
    monkeypatch.setenv("NO_PROXY", "intranet")
    environment = codex_environment(tmp_path)
    assert "OPENAI_API_KEY" not in environment
    assert environment["CODEX_HOME"] == str(tmp_path)
    assert environment["NO_PROXY"] == environment["no_proxy"] == "intranet,127.0.0.1"


def test_codex_finds_no_certificates_to_read_at_each_model_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", "/etc/ssl/certs")
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/ssl/cert.pem")
    environment = codex_environment(tmp_path)
    assert "SSL_CERT_DIR" not in environment
    assert Path(environment["SSL_CERT_FILE"]).read_bytes() == b""


def test_every_override_gets_its_flag() -> None:
    assert config_flags(["a=1", "b=2"]) == ["-c", "a=1", "-c", "b=2"]
