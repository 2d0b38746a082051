"""`trimpoint fleet clear | compact | interrupt`: sends a command to the host that has the
thread.
"""

import argparse
from functools import partial

import msgspec
from rich.text import Text
from trimpoint_protocol.client import new_command_id

from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.fleet_commands.hub_client import Person, chosen_thread, exit_for, with_hub
from trimpoint.cli.terminal import one_line, print_json, printable, stderr_console, stdout_console
from trimpoint.fleet.commands.asking import HostAway, ask
from trimpoint.fleet.commands.requests import FleetAnswer, FleetCommand
from trimpoint.fleet.reading import ThreadOfHost

_BUSY = frozenset({"turn_in_progress", "already_in_progress", "request_pending"})


def run(arguments: argparse.Namespace) -> int:
    """Sends the command and shows its outcome."""
    return with_hub(arguments, partial(_ask, arguments))


async def _ask(arguments: argparse.Namespace, person: Person) -> int:
    chosen = await chosen_thread(person, arguments)
    command = FleetCommand(
        chosen.thread.id,
        arguments.command_id or new_command_id(),
        getattr(arguments, "keep", None),
        getattr(arguments, "guidance", ""),
        arguments.wait,
    )
    if not arguments.json:
        stderr_console().print(Text(f"{chosen.host} {chosen.thread.id}", "dim"))
    try:
        answer = await ask(
            person.hub, person.names, chosen.host, person.name, arguments.action, command
        )
    except HostAway as error:
        raise _away(error, command) from None
    return _show(arguments, chosen, command, answer)


def _away(error: HostAway, command: FleetCommand) -> CliError:
    host = one_line(error.host)
    if error.is_known:
        return CliError(
            f"The machine {host} is offline; nothing was done.",
            "See trimpoint fleet hosts. Its threads can still be read with trimpoint fleet "
            "timeline.",
            reason="offline",
        )
    return CliError(
        f"The machine {host} does not answer.",
        "It may have the command all the same. Ask again with --command-id "
        f"{command.command_id}: it is done once.",
        reason="no_answer",
    )


def _show(
    arguments: argparse.Namespace, chosen: ThreadOfHost, command: FleetCommand, answer: FleetAnswer
) -> int:
    if arguments.json:
        print_json(
            {
                "host": chosen.host,
                "threadId": chosen.thread.id,
                "commandId": command.command_id,
                **msgspec.to_builtins(answer),
            }
        )
        return _exit_of(answer)
    if answer.kind == "refused":
        raise CliError(printable(answer.message), printable(answer.hint), reason=answer.reason)
    said = answer.outcome.message if answer.outcome is not None else answer.message
    stdout_console().print(Text(printable(said or "Done.")))
    return _exit_of(answer)


def _exit_of(answer: FleetAnswer) -> int:
    if answer.outcome is not None:
        return exit_for(answer.outcome.status)
    return Exit.SKIPPED if answer.reason in _BUSY else Exit.FAILED
