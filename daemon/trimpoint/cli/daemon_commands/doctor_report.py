"""`trimpoint doctor --report`: what was found, as a page that a person can send."""

import getpass
import os
import platform
import pwd
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from trimpoint.cli.daemon_commands.version import version_lines
from trimpoint.cli.terminal import one_line
from trimpoint.doctor.findings import CheckResult
from trimpoint.system import SYSTEM

_MARKS = {"ok": "ok", "warn": "**warning**", "fail": "**failure**"}
_LONG_TEXT = 400


def report(results: Sequence[CheckResult], environ: Mapping[str, str]) -> str:
    """Returns the page: what the checks say, with nothing of a conversation and no value of a
    setting. The home folder and the names of the user and the machine are replaced.
    """
    page = "\n".join(_lines(results)) + "\n"
    home = environ.get("HOME", "").rstrip("/")
    for folder in sorted({home, os.path.realpath(home) if home else ""}, key=len, reverse=True):
        if folder:
            page = page.replace(folder, "~")
    for name in _user_names(environ):
        page = _replaced(name, "USER", page)
    return _replaced(socket.gethostname(), "HOST", page)


def _lines(results: Sequence[CheckResult]) -> Iterator[str]:
    yield from ("# trimpoint doctor --report", "")
    yield from (f"- {line}" for line in version_lines())
    release = platform.mac_ver()[0] or f"{platform.system()} {platform.release()}"
    yield f"- System: {release}, as {type(SYSTEM).__name__}"
    yield from ("", "| Check | | Found | To do |", "|---|---|---|---|")
    for result in results:
        finding = result.finding
        cells = (result.check, _MARKS[finding.status], finding.text, finding.hint)
        yield f"| {' | '.join(one_line(cell, _LONG_TEXT).replace('|', '/') for cell in cells)} |"


def _user_names(environ: Mapping[str, str]) -> Iterator[str]:
    # One may be another user's after `su`.
    yield environ.get("HOME", "").rpartition("/")[2]
    with suppress(KeyError, OSError):  # a user without a name
        yield getpass.getuser()
        yield pwd.getpwuid(os.getuid()).pw_name


def _replaced(name: str, by: str, page: str) -> str:
    word = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
    return re.sub(word, by, page) if name else page
