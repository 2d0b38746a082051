"""`trimpoint trust`: shows whether Codex trusts a folder, or changes it."""

import argparse
from functools import partial
from typing import Any

from trimpoint_protocol.methods import CommandOutcome

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.terminal import print_json
from trimpoint.cli.thread_commands.slash import show_outcome
from trimpoint.cli.thread_commands.turns.prompt import folder
from trimpoint.codex.project_trust import ProjectTrust
from trimpoint.core.commands.trust import UNDONE_BY, Trust, trust_said


def run(arguments: argparse.Namespace) -> int:
    """Shows what Codex's configuration says about the folder, after the change if one was asked
    for.
    """
    return with_daemon(arguments, partial(_trust, arguments))


async def _trust(arguments: argparse.Namespace, client: Client) -> int:
    async def request(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return dict(await client.request(method, **params))

    trust, cwd, answer = ProjectTrust(request), folder(arguments.cwd), arguments.answer
    if answer is None:
        found = await trust.of(cwd)
    else:
        found = await trust.change(cwd, is_trusted=answer == "yes")
    if arguments.json:
        print_json({"folder": found.folder, "level": found.level, "file": found.file})
        return 0
    said, hints = trust_said(found, answer)
    outcome = CommandOutcome(
        handled=True,
        command=Trust.command,
        status="completed",
        said=said,
        hints=[*hints],
        undo=UNDONE_BY.get(answer or ""),
    )
    return show_outcome(outcome)
