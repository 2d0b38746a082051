"""The errors with which a command exits when the daemon or Codex refused its request."""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimpoint.cli.connection.client import RemoteError
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.terminal import one_line

# What Codex says when another process has the thread open (measured: 0.163).
_HELD = "already has an active writer"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REASONS_OF_USAGE = frozenset({"usage", "invalid_params"})


def refused(error: RemoteError) -> CliError:
    """Returns the error with which a command exits when the daemon or Codex refused its request."""
    failure = CliError(
        _shortened(error.message),
        error.hint,
        reason=error.reason or "codex_refused",
    )
    if error.reason in _REASONS_OF_USAGE:
        failure.code = Exit.USAGE
    return failure


def without_login(account: Mapping[str, Any]) -> CliError | None:
    """Returns the error for an answer of `account/read` that says that Codex's provider needs a
    login and there is none. Codex itself would retry for about 15 seconds and then only report
    status 401.
    """
    if not account.get("requiresOpenaiAuth") or account.get("account") is not None:
        return None
    return CliError(
        "Codex is not logged in.", "Run `trimpoint login`, then try again.", reason="not_logged_in"
    )


def held_elsewhere(error: RemoteError, codex_home: str) -> CliError | None:
    """Returns an error that names the process that has the thread open, if that is why Codex
    refused; None for any other refusal.
    """
    if _HELD not in error.message:
        return None
    from trimpoint.doctor.processes import WAY_OUT, named, thread_writers

    threads = set(_UUID.findall(error.message))
    holders = [pid for pid, held in thread_writers(Path(codex_home)).items() if threads & set(held)]
    who = f"another Codex ({named(holders[0])})" if holders else "another process"
    ids = ", ".join(sorted(threads)) or "The thread"
    return CliError(
        f"{ids} is open in {who}, and Codex lets only one process write to a thread.",
        f"End that conversation or program first. {WAY_OUT}",
        reason="thread_held",
    )


def _shortened(message: str) -> str:
    """Returns a refusal of Codex, shortened. Codex answers an unknown method with a list of all its
    methods (6 KB); only the three most similar names are kept.
    """
    head, expected, rest = message.partition(", expected one of ")
    if not expected:
        return one_line(message, 2000)
    wanted = head.rpartition("`")[0].rpartition("`")[2]
    near = difflib.get_close_matches(wanted, [name.strip("` ") for name in rest.split(",")], n=3)
    return one_line(f"{head}.{' Did you mean ' + ' or '.join(near) + '?' if near else ''}")
