"""Arguments of the commands about a fleet."""

import argparse

from trimpoint.cli.parsing.options import (
    Commands,
    add_location_options,
    command,
    json_option,
    positive,
    seconds,
    turn_count,
)

FLEET = """\
Asks the NATS servers of the [fleet] section of your configuration, with your own credentials
(person_credentials); no daemon is needed here. trimpoint help fleet.md tells
how to make a fleet.
"""
INIT = """\
Writes a server's configuration, its keys, and a file with credentials for each host and person.
Run again, it adds what is new and leaves the rest as it is. The folder keys/ is the secret of the
whole fleet: keep it away from the servers.
example:
  trimpoint fleet init hub --host desk --operator alice --viewer bob
"""


def add_fleet(commands: Commands) -> None:
    """Adds the command `fleet`."""
    parser = command(
        commands,
        "fleet",
        "fleet_commands.view:run_hosts",
        "see and command the threads of many machines",
        FLEET,
    )
    _for_people(parser)
    actions = parser.add_subparsers(metavar="ACTION", title="actions")
    _for_people(_action(actions, "hosts", "view:run_hosts", "list the connected machines"))
    _add_threads(actions)
    _add_watch(actions)
    _add_timeline(actions)
    _add_clear(actions)
    _add_compact(actions)
    parser = _action(
        actions, "interrupt", "commands:run", "end the turn or the compaction of a thread"
    )
    _for_commands(parser, 60)
    _add_setup(actions)
    _add_init(actions)


def _action(
    actions: Commands, name: str, run: str, summary: str, details: str = ""
) -> argparse.ArgumentParser:
    parser = command(actions, name, f"fleet_commands.{run}", summary, details)
    parser.set_defaults(action=name)
    return parser


def _for_people(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--credentials", metavar="FILE", help="yours (default: as configured)")
    parser.add_argument(
        "--server",
        metavar="URL",
        action="append",
        default=[],
        help="a NATS server (default: as configured)",
    )
    parser.add_argument("--tenant", metavar="NAME", help="the team (default: as configured)")
    json_option(parser)
    add_location_options(parser)


def _host_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="NAME", help="only this machine's")


def _for_commands(parser: argparse.ArgumentParser, wait_s: float) -> None:
    parser.add_argument("thread", metavar="THREAD", help="a thread's id, or the end of it")
    _host_option(parser)
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=seconds,
        default=wait_s,
        help=f"how long to wait for the end (default {wait_s:g})",
    )
    parser.add_argument(
        "--command-id",
        metavar="ID",
        help="an id for the command; repeated with the same id, it is carried out once",
    )
    _for_people(parser)


def _add_threads(actions: Commands) -> None:
    parser = _action(actions, "threads", "view:run_threads", "list the threads of all machines")
    _host_option(parser)
    _for_people(parser)


def _add_watch(actions: Commands) -> None:
    parser = _action(actions, "watch", "view:run_watch", "follow what happens on all machines")
    _host_option(parser)
    _for_people(parser)


def _add_timeline(actions: Commands) -> None:
    parser = _action(
        actions, "timeline", "view:run_timeline", "show the events of a thread, as the hub has them"
    )
    parser.add_argument("thread", metavar="THREAD", help="a thread's id, or the end of it")
    _host_option(parser)
    parser.add_argument("-n", "--limit", metavar="N", type=positive, help="the newest N events")
    _for_people(parser)


def _add_clear(actions: Commands) -> None:
    parser = _action(actions, "clear", "commands:run", "clear a thread's context")
    _for_commands(parser, 60)
    parser.add_argument("--keep", metavar="N", type=turn_count, help="keep the last N turns")


def _add_compact(actions: Commands) -> None:
    parser = _action(actions, "compact", "commands:run", "have a thread's context summarized")
    _for_commands(parser, 600)
    parser.add_argument("--keep", metavar="N", type=turn_count, help="keep the last N turns")
    parser.add_argument(
        "--guidance", metavar="TEXT", default="", help="what the summary must contain"
    )


def _add_setup(actions: Commands) -> None:
    parser = _action(
        actions, "setup", "hub:run_setup", "make the streams of a team on the servers, as admin"
    )
    parser.add_argument(
        "--replicas", metavar="N", type=positive, default=1, help="servers that keep each stream"
    )
    _for_people(parser)


def _add_init(actions: Commands) -> None:
    parser = _action(
        actions, "init", "hub:run_init", "write a server's configuration and credentials", INIT
    )
    parser.add_argument("folder", metavar="FOLDER", help="where to write; created if missing")
    parser.add_argument("--tenant", metavar="NAME", default="default", help="the team")
    for role, what in (
        ("host", "a machine with a daemon"),
        ("operator", "a person who sees and commands"),
        ("viewer", "a person who sees"),
        ("leaf", "a site with a leaf node"),
    ):
        parser.add_argument(
            f"--{role}", metavar="NAME", action="append", default=[], help=f"{what}; repeatable"
        )
    parser.add_argument(
        "--node",
        metavar="NAME=ADDRESS",
        action="append",
        default=[],
        help="a server; three of them are a cluster (default: one at 127.0.0.1)",
    )
    parser.add_argument(
        "--listen", metavar="ADDRESS", default="127.0.0.1", help="where servers listen"
    )
    parser.add_argument("--days", metavar="N", type=positive, help="credentials expire after it")
    json_option(parser)
