"""The page that `trimpoint doctor --report` prints: only what is declared is said."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from trimpoint.cli.daemon_commands import doctor_report
from trimpoint.cli.main import main
from trimpoint.doctor.findings import CheckResult, Finding, warn

from tests.doctor.stage import program

SECRET = "s3cr3tw0rd"

CONFIG = f"""
state_dir = "{{folder}}/state"
socket = "{{folder}}/run/{SECRET}"

[codex]
overrides = ["model_providers.{SECRET}.http_headers.Authorization='{SECRET}'"]

[fleet]
servers = ["nats://{SECRET}:{SECRET}@127.0.0.1:1"]
credentials = "{{folder}}/{SECRET}.creds"
host = "{SECRET}"
"""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields a folder; whatever doctor reads has the secret in it."""
    with TemporaryDirectory(prefix=SECRET) as name:
        folder = Path(name)
        for variable in list(os.environ):
            if variable.startswith(("TRIMPOINT_", "XDG_", "CODEX_")):
                monkeypatch.delenv(variable)
        for made in ("home", "run", "state", "codex"):
            (folder / made).mkdir(mode=0o700)
        program(folder / "bin", "codex", f"echo codex-cli 0.163.0-{SECRET}")
        program(folder / "bin", "git", f"echo git version 2.39.5.{SECRET}")
        (folder / "state" / "threads").mkdir()
        (folder / "state" / "threads" / f"{SECRET}.journal").write_text(SECRET)
        (folder / "codex" / "config.toml").write_text(
            f"[permissions.{SECRET}.network]\nenabled = true\n"
        )
        (folder / "codex" / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": SECRET}))
        (folder / "config.toml").write_text(CONFIG.format(folder=folder))
        for variable, value in (
            ("HOME", "home"),
            ("PATH", "bin"),
            ("CODEX_HOME", "codex"),
            ("XDG_RUNTIME_DIR", "run"),
            (f"{SECRET.upper()}_TOKEN", SECRET),
        ):
            monkeypatch.setenv(variable, str(folder / value))
        yield folder


def page_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    main(["doctor", "--report", "--config", str(folder / "config.toml")])
    said = capsys.readouterr()
    assert SECRET not in said.out.lower(), said.out
    assert str(folder) not in said.out
    assert "Traceback" not in said.err
    return said.out


@pytest.mark.processes
def test_nothing_that_is_read_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of(place, capsys)
    assert "| codex | ok |  | path; version 0.163.0 |" in page
    assert "version 2.39.5 |" in page
    assert "| journals | **warning** | threads that cannot be continued | 1 threads;" in page
    assert "| codex network | **warning** | network for agents | 1 settings |" in page
    assert re.search(r"[1-9]\d* variables called like secrets", page)
    assert "with an API key" in page
    assert re.search(r"\| fleet \| \*\*(warning|failure)\*\* \| \w+", page)


@pytest.mark.processes
def test_nothing_that_is_read_is_said_of_mistakes(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "config.toml").write_text(f'{SECRET} = "{SECRET}"')
    assert "| configuration | **failure** | mistake in the file |" in page_of(place, capsys)

    long = "x" * 120
    text = CONFIG.format(folder=place).replace(f"run/{SECRET}", f"{long}/{SECRET}")
    (place / "config.toml").write_text(text.replace("/state", "/bin/git"))
    program(place / "bin", "git", f"echo {SECRET}")
    program(place / "bin", "codex", f"echo {SECRET}")
    (place / "codex" / "auth.json").write_text(SECRET)
    (place / "run").chmod(0o777)
    page = page_of(place, capsys)
    for kind in ("no version", "too old", "unreadable login", "path too long", "unsafe folder"):
        assert f"| {kind} |" in page


def test_texts_hints_and_other_facts_are_left_out() -> None:
    facts = {
        **dict.fromkeys(sorted(doctor_report.DECLARED - {"version"}), SECRET),
        "names": [SECRET, SECRET],
        "units": {SECRET: SECRET, "other": "foreign"},
        "settings": {SECRET: {"value": SECRET, "origin": SECRET}},
        "path": SECRET,
        SECRET: 7,
        "number": 4711,
    }
    page = doctor_report.report(
        [
            CheckResult("state", warn("full", SECRET, SECRET, **facts)),
            CheckResult("codex", Finding("ok", SECRET, SECRET, {"version": f"1.2.3-{SECRET}"})),
        ]
    )
    assert SECRET not in page
    assert "4711" not in page
    assert (
        "| state | **warning** | full | "
        "2 variables for agents; 1 settings are not the built-in ones; foreign |"
    ) in page
    assert "| codex | ok |  | version 1.2.3 |" in page
