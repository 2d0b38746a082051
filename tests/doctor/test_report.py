"""The page that `trimpoint doctor --report` prints."""

import getpass
import socket

import pytest
from trimpoint.cli.daemon_commands import doctor_report
from trimpoint.doctor.findings import CheckResult, Finding


def test_a_report_has_what_was_found_and_neither_names_nor_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "alicia")
    monkeypatch.setattr(socket, "gethostname", lambda: "wonderland")
    monkeypatch.setattr(doctor_report, "version_lines", lambda: ["trimpoint 1", "Python 3"])
    found = Finding(
        "warn",
        "/home/alicia/x|y is full, says alicia on wonderland of alicia_s",
        "Make room.",
        {"settings": {"notify.webhook": {"value": "https://secret.example", "origin": "file"}}},
    )
    page = doctor_report.report([CheckResult("state", found)], {"HOME": "/home/alicia"})
    assert (
        "| state | **warning** | ~/x/y is full, says USER on HOST of USER_s | Make room. |" in page
    )
    assert "- Python 3" in page
    assert "secret" not in page
    assert "alicia" not in page
