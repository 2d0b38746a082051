"""`trimpoint fleet init | setup`: commands for the people who run the servers."""

import argparse
from functools import partial
from pathlib import Path

from rich.text import Text

from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.fleet_commands.hub_client import Person, with_hub
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.config.sections import FLEET_NAME
from trimpoint.fleet.roles import Role
from trimpoint.fleet.setup import HubFolder, Members, NameTaken, Node, make_streams


def run_init(arguments: argparse.Namespace) -> int:
    """Writes the configuration of the servers and the credentials of the members, and prints the
    next steps.
    """
    root, nodes = Path(arguments.folder), _nodes(arguments)
    members = tuple(
        (role, _name(name))
        for role in (Role.HOST, Role.OPERATOR, Role.VIEWER, Role.LEAF)
        for name in getattr(arguments, role)
    )
    wanted = Members(_name(arguments.tenant), members, arguments.days)
    try:
        written = list(HubFolder(root).add(wanted, nodes, arguments.listen))
    except NameTaken as error:
        raise UsageError(str(error), "Give each member of a tenant a name of its own.") from None
    except OSError as error:
        raise CliError(f"{error.filename}: {error.strerror}.") from None
    if arguments.json:
        print_json({"folder": str(root), "written": [str(path) for path in written]})
        return Exit.DONE
    console = stdout_console()
    for path in written:
        console.print(Text(str(path)))
    admin = HubFolder(root).credentials_path(wanted.tenant, Role.ADMIN, "admin")
    server = f"nats://{nodes[0].address}:{nodes[0].port}"
    replicas = f" --replicas {len(nodes)}" if len(nodes) > 1 else ""
    console.print(Text("Next:", "dim"))
    for node in nodes:
        console.print(Text(f"  cd {root} && nats-server -c {node.name}.conf", "dim"))
    console.print(
        Text(
            f"  trimpoint fleet setup --tenant {wanted.tenant} --server {server} --credentials "
            f"{admin}{replicas}",
            "dim",
        ),
        soft_wrap=True,  # a line that is copied must stay one
    )
    return Exit.DONE


def run_setup(arguments: argparse.Namespace) -> int:
    """Creates the streams on the servers."""
    return with_hub(arguments, partial(_setup, arguments))


async def _setup(arguments: argparse.Namespace, person: Person) -> int:
    await make_streams(person.hub, person.names, arguments.replicas)
    if arguments.json:
        print_json({"tenant": person.names.tenant, "stream": person.names.stream})
    else:
        stdout_console().print(f"The streams of {person.names.tenant} are there.")
    return Exit.DONE


def _nodes(arguments: argparse.Namespace) -> tuple[Node, ...]:
    if not arguments.node:
        return (Node("server", "127.0.0.1"),)
    nodes: list[Node] = []
    for text in arguments.node:
        name, equals, address = text.partition("=")
        if not equals or not address:
            raise UsageError(f"--node takes NAME=ADDRESS, not {text!r}.")
        nodes.append(Node(_name(name), address))
    return tuple(nodes)


def _name(name: str) -> str:
    if not FLEET_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name.", "Use letters, digits, - and _.")
    return name
