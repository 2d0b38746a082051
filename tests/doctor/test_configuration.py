"""Configuration: each value and its origin."""

from typing import Any

from trimpoint.doctor import (
    configuration,
)
from trimpoint.doctor.findings import Installation

from tests.doctor.stage import Machine, sole


def test_each_value_has_its_origin_and_secrets_stay_hidden(machine: Machine) -> None:
    text = '[codex]\noverrides = ["provider.bearer=sk-secret"]\n[limits]\nmax_clients = 7\n[log]\nlevel = "debug"\n'
    found = sole(
        configuration.check(
            machine.installation(text=text, TRIMPOINT_LOG="error", flags={"codex.path": "/named"})
        )
    )
    settings: dict[str, Any] = found.facts["settings"]
    assert settings["limits.max_clients"] == {
        "value": 7,
        "origin": str(machine.folder / "config.toml"),
    }
    assert settings["log.level"]["origin"] == "TRIMPOINT_LOG"
    assert settings["codex.path"] == {"value": "/named", "origin": "flag"}
    assert settings["context.auto"] == {"value": "warn", "origin": "default"}
    assert "limits.max_outbox_bytes" not in settings
    assert settings["state_dir"] == {"value": str(machine.state_dir), "origin": "default"}
    assert settings["codex.overrides"]["value"] == ["provider.bearer=…"]
    assert "sk-secret" not in str(found)


def test_a_fixed_setting_in_the_file_is_a_warning_and_obeyed(machine: Machine) -> None:
    installation = machine.installation(
        text="[limits]\nmax_clients = 7\n[context]\npins_share = 0.5\n"
    )
    found = sole(configuration.check(installation))
    assert found.status == "warn"
    assert "no longer a setting: context.pins_share, limits.max_clients" in found.text
    assert installation.config.limits.max_clients == 7


def test_a_file_that_cannot_be_used_is_a_failure_with_its_own_words(machine: Machine) -> None:
    broken = machine.installation()
    broken = Installation(
        broken.config,
        broken.config_path,
        broken.state_dir,
        broken.socket,
        {},
        {},
        "config.toml:3: unknown key.",
    )
    found = sole(configuration.check(broken))
    assert (found.status, found.text) == ("fail", "config.toml:3: unknown key.")
