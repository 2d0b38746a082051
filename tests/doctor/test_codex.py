"""Codex: its version, its login and its sandbox. Only `--version` of it is run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from trimpoint.codex.appserver import versions
from trimpoint.doctor import (
    codex,
)
from trimpoint.system import SYSTEM

from tests.doctor.stage import LOCKER, Machine, program, sole


@pytest.mark.each_case(reason="each row is another answer")
@pytest.mark.processes
@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo codex-cli 0.163.0", "ok", "0.163.0"),
        ("echo codex-cli 0.132.9", "fail", "too old"),
        ("echo codex-cli 9.0.0-alpha.1", "warn", "newer than what was tested"),
        ("echo nothing of use", "fail", "does not say its version"),
        ("exit 1", "fail", "does not say its version"),
    ],
)
def test_the_version_is_compared_with_those_that_were_tested(
    machine: Machine, script: str, status: str, words: str
) -> None:
    path = program(machine.folder / "bin", "codex", script)
    found = sole(codex.check(machine.installation()))
    assert (found.status, found.facts["path"], found.facts["source"]) == (status, str(path), "path")
    assert words in found.text


@pytest.mark.processes
def test_codex_is_not_given_a_home_to_write_to(machine: Machine) -> None:
    program(
        machine.folder / "bin",
        "codex",
        f'echo "$CODEX_HOME" > {machine.folder}/home-given; echo codex-cli 0.163.0',
    )
    sole(codex.check(machine.installation()))
    assert not Path((machine.folder / "home-given").read_text().strip()).exists()


@pytest.mark.processes
def test_a_codex_that_hangs_or_cannot_run_is_not_waited_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_VERSION_DEADLINE_S", 0.01)
    program(machine.folder / "bin", "codex", "exec sleep 60")
    assert sole(codex.check(machine.installation())).status == "fail"
    (machine.folder / "bin" / "codex").write_bytes(b"\x7fELF nonsense")
    assert sole(codex.check(machine.installation())).status == "fail"


def test_a_configured_program_that_is_no_codex_is_reported(machine: Machine) -> None:
    for installation in (
        machine.installation(flags={"codex.path": "/nowhere"}),
        machine.installation(text='[codex]\npath = "/nowhere"\n'),
    ):
        found = sole(codex.check(installation))
        assert (found.status, "/nowhere cannot be used as Codex" in found.text) == ("fail", True)


@pytest.mark.parametrize(
    ("auth", "mode", "status", "words"),
    [
        (None, 0o600, "warn", "no login"),
        ('{"OPENAI_API_KEY": "sk-secret", "tokens": null}', 0o600, "ok", "with an API key"),
        ('{"tokens": {"access_token": "ey-secret"}}', 0o600, "ok", "with ChatGPT"),
        ('{"tokens": {"access_token": "ey-secret"}}', 0o644, "warn", "others may read it"),
        ('{"OPENAI_API_KEY": null}', 0o600, "warn", "no login that is known"),
        ("half a fi-secret", 0o600, "warn", "cannot be read"),
    ],
)
def test_the_kind_of_login_is_reported_without_its_secrets(
    machine: Machine, auth: str | None, mode: int, status: str, words: str
) -> None:
    machine.make("codex-home")
    if auth is not None:
        (machine.folder / "codex-home" / "auth.json").write_text(auth)
        (machine.folder / "codex-home" / "auth.json").chmod(mode)
    found = sole(codex.check_login(machine.installation()))
    assert (found.status, words in found.text) == (status, True)
    assert "secret" not in str(found)


def test_without_a_named_home_codex_has_its_usual_one(machine: Machine) -> None:
    installation = machine.installation(CODEX_HOME="")
    assert installation.codex_home == machine.folder / "home" / ".codex"


@pytest.mark.parametrize("is_forbidden", [True, False])
def test_a_system_without_user_namespaces_is_warned_of(
    machine: Machine, is_forbidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    values = {"user.max_user_namespaces": "0" if is_forbidden else "100"}
    monkeypatch.setattr(SYSTEM, "kernel_setting", values.get)
    assert sole(codex.check_sandbox(machine.installation())).status == (
        "warn" if is_forbidden else "ok"
    )


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("config.toml", "", None),
        ("config.toml", "[sandbox_workspace_write]\nnetwork_access = false\n", None),
        ("config.toml", "half a [table", None),
        (
            "config.toml",
            "[sandbox_workspace_write]\nnetwork_access = true\n",
            "sandbox_workspace_write.network_access",
        ),
        (
            "config.toml",
            "profiles.web.sandbox_workspace_write.network_access = true\n",
            "profiles.web.sandbox_workspace_write.network_access",
        ),
        (
            "web.config.toml",
            "sandbox_workspace_write.network_access = true\n",
            "sandbox_workspace_write.network_access",
        ),
        (
            "config.toml",
            "[permissions.web.network]\nenabled = true\n",
            "permissions.web.network.enabled",
        ),
    ],
)
def test_settings_that_give_sandboxed_agents_the_network_are_warned_of(
    machine: Machine, name: str, text: str, found: str | None
) -> None:
    machine.make("codex-home")
    (machine.folder / "codex-home" / name).write_text(text)
    finding = sole(codex.check_network(machine.installation()))
    assert finding.status == ("ok" if found is None else "warn")
    assert finding.facts.get("settings") == ([f"{name}: {found}"] if found else None)


def test_an_override_of_ours_that_gives_the_network_is_warned_of(machine: Machine) -> None:
    override = "sandbox_workspace_write.network_access=true"
    installation = machine.installation(text=f"[codex]\noverrides = ['{override}']\n")
    finding = sole(codex.check_network(installation))
    assert "codex.overrides: sandbox_workspace_write.network_access" in finding.text
    assert sole(codex.check_network(machine.installation())).status == "ok"


def test_the_variables_that_agents_get_are_named_and_never_their_values(machine: Machine) -> None:
    machine.make("state")
    installation = machine.installation(GITHUB_TOKEN="ghp-1", TRIMPOINT_LOG="debug", LISTEN_FDS="1")
    found = sole(codex.check_environment(installation))
    names = ["CODEX_HOME", "GITHUB_TOKEN", "HOME", "PATH"]
    assert found.facts == {"names": names, "calledLikeSecrets": ["GITHUB_TOKEN"]}
    assert "ghp-1" not in str(found)
    assert "this shell" in found.text


@pytest.mark.processes
@pytest.mark.linux("looks at other processes")
def test_the_variables_are_those_of_the_daemon_that_runs(machine: Machine) -> None:
    machine.make("state")
    lock = str(machine.state_dir / "lock")
    holder = subprocess.Popen(
        [sys.executable, "-c", LOCKER, lock],
        env={"PATH": os.environ["PATH"], "OF_THE_DAEMON": "1", "NOTIFY_SOCKET": "/run/n"},
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        found = sole(codex.check_environment(machine.installation()))
        holder.kill()
    assert found.facts["names"] == ["OF_THE_DAEMON", "PATH"]
    assert not found.hint
