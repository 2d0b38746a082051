"""`trimpoint doctor --report`: what was found, as a page that a person can send."""

import getpass
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence

from trimpoint.cli.daemon_commands.version import version_lines
from trimpoint.cli.terminal import one_line
from trimpoint.doctor.findings import CheckResult
from trimpoint.system import SYSTEM

_MARKS = {"ok": "ok", "warn": "**warning**", "fail": "**failure**"}
_LONG_TEXT = 400


def report(results: Sequence[CheckResult], environ: Mapping[str, str]) -> str:
    """Returns the page. It has no settings, no environment and nothing of a conversation; the home
    folder and the user's name are replaced.
    """
    page = "\n".join(_lines(results)) + "\n"
    home = environ.get("HOME", "").rstrip("/")
    for folder in sorted({home, os.path.realpath(home) if home else ""}, key=len, reverse=True):
        if folder:
            page = page.replace(folder, "~")
    return re.sub(rf"\b{re.escape(_user(environ))}\b", "USER", page)


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


def _user(environ: Mapping[str, str]) -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return environ.get("HOME", "").rpartition("/")[2] or "USER"
