"""What can be typed about the daemon, and what runs one."""

import argparse

from trimpoint.cli.parsing.options import (
    Commands,
    add_location_options,
    as_codex_daemon,
    command,
    for_clients,
    for_daemons,
    json_option,
    positive,
    seconds,
    thread_options,
)

APP_SERVER = """\
A client that is told that its codex binary is trimpoint starts it as
  trimpoint [-c KEY=VALUE …] app-server [--listen stdio://] [-c KEY=VALUE …]
which is the same thing, every -c and --config being an override for Codex.
"""

ACP = """\
An editor that speaks the Agent Client Protocol (Zed, JetBrains, Neovim, Emacs …) starts it by
itself; docs/acp.md has what to write into each editor's configuration. It joins the running daemon,
or starts one in the background.
"""

EXPIRE = """\
Threads that were archived more than retention.archived_after_days ago go to the folder
expired/ of the state directory, or for good if retention.delete says so. In doubt they stay.
exit code 3: the rule is off, or names nothing
"""

REPAIR = """\
exit codes:
  0  repaired
  1  something is left as it was, for the reason given
  3  there was nothing to repair
"""

TOKEN = """\
The token is in the file http-token of the state directory, made when it is first needed, and
readable by you alone. Whoever has it can do with your threads whatever you can.
"""
OPEN = """\
Starts a daemon if none runs, and has it serve the page at 127.0.0.1. The address works once,
within two minutes; the browser is then logged in for 30 days. Over SSH it is printed.
"""
CHAT = """\
Without a thread it goes on with the last one of this folder, or begins one. ? shows the keys.
It needs the extra tui, and says how to install it where that is missing.
"""

DESKTOP = """\
Talks to the daemon through a pipe, and starts it if none runs: no port is opened. Closing the
window leaves the daemon running. Needs Qt, and says how to install it
where that is missing.
"""
ASK = """\
Goes on in the last thread of this folder; without one, or with --new, it begins one.
--model, --sandbox and --approve stay as they are set until they are set again.
examples:
  trimpoint ask "What does this project do?"
  trimpoint ask --new --sandbox workspace-write "Add a docstring to greet."
  git diff | trimpoint ask - > review.md
"""

COMPLETION = """\
  bash:  trimpoint completion bash >> ~/.bashrc
  zsh:   trimpoint completion zsh >> ~/.zshrc
  fish:  trimpoint completion fish > ~/.config/fish/completions/trimpoint.fish
"""

PROBE = """\
Prints the result as JSON. With --json it is on one line as {"result": …} or {"error": …}, and each
notification that follows is a line of its own.
examples:
  trimpoint probe thread/list
  trimpoint probe timeline/read '{"threadId": "…"}'
  trimpoint probe turn/start --until turn/completed \\
      '{"threadId": "…", "input": [{"type": "text", "text": "hi"}]}'
  trimpoint probe --prompt "What does this project do?"
  trimpoint probe --prompt "And how is it tested?" --thread LAST-DIGITS-OF-ID
"""


def add_open(commands: Commands) -> None:
    """`open`."""
    parser = command(
        commands,
        "open",
        "thread_commands.open:run",
        "open the web page of the daemon in your browser",
        OPEN,
    )
    parser.add_argument(
        "--print", action="store_true", help="print the address instead of opening a browser"
    )
    for_clients(parser, thread=True)


def add_desktop(commands: Commands) -> None:
    """`desktop`."""
    parser = command(
        commands,
        "desktop",
        "daemon_commands.desktop:run",
        "show the web page in a window of its own",
        DESKTOP,
    )
    parser.add_argument("-t", "--thread", metavar="ID", help="show this thread")
    add_location_options(parser)
    parser.add_argument("--codex", metavar="PATH", help="the Codex binary to run")


def add_serve(commands: Commands) -> None:
    """`serve`."""
    parser = command(
        commands, "serve", "daemon_commands.serve:run", "run the daemon in the foreground"
    )
    parser.add_argument(
        "--background",
        action="store_true",
        help="leave it running, until nothing has used it for a minute",
    )
    json_option(parser)
    as_codex_daemon(parser)
    for_daemons(parser)


def add_stdio(commands: Commands) -> None:
    """`stdio`."""
    parser = command(
        commands,
        "stdio",
        "daemon_commands.stdio:run",
        "serve the client at stdin and stdout",
        APP_SERVER,
    )
    for_daemons(parser)


def add_acp(commands: Commands) -> None:
    """`acp`."""
    parser = command(
        commands,
        "acp",
        "daemon_commands.acp:run",
        "serve an ACP editor at stdin and stdout",
        ACP,
    )
    parser.add_argument("--login", action="store_true", help="log Codex in, and end")
    # For ourselves: what starts a daemon would make this process twice as large.
    parser.add_argument("--start-daemon", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    add_location_options(parser)


def add_status(commands: Commands) -> None:
    """`status`."""
    parser = command(
        commands,
        "status",
        "thread_commands.status:run",
        "show the daemon, its Codex and its threads",
    )
    parser.add_argument("-a", "--all", action="store_true", help="list archived threads too")
    for_clients(parser)


def add_metrics(commands: Commands) -> None:
    """`metrics`."""
    parser = command(
        commands,
        "metrics",
        "daemon_commands.metrics:run",
        "show what the daemon counts about itself",
    )
    parser.add_argument(
        "--prometheus", action="store_true", help="print the text that Prometheus reads"
    )
    for_clients(parser)


def add_token(commands: Commands) -> None:
    """`token`."""
    parser = command(
        commands,
        "token",
        "daemon_commands.token:run",
        "print the token for HTTP and WebSocket over TCP",
        TOKEN,
    )
    parser.add_argument(
        "--url",
        action="store_true",
        help="print an address that logs a browser in, once, within two minutes",
    )
    parser.add_argument(
        "--new",
        action="store_true",
        help="make another token; the old one ends when the daemon is started again",
    )
    for_clients(parser)


def add_ask(commands: Commands) -> None:
    """`ask`."""
    parser = command(
        commands,
        "ask",
        "thread_commands.ask:run",
        "say something to the agent, and see what it does",
        ASK,
    )
    parser.add_argument(
        "text", metavar="TEXT", nargs="*", help="what to say; - reads it from stdin"
    )
    parser.add_argument("--new", action="store_true", help="begin a new thread")
    parser.add_argument("-m", "--model", metavar="MODEL", help="the model, from this turn on")
    parser.add_argument(
        "-s", "--sandbox", choices=("read-only", "workspace-write", "danger-full-access"),
        help="what the agent may change, from this turn on",
    )  # fmt: skip
    parser.add_argument(
        "-a",
        "--approve",
        choices=("untrusted", "on-request", "never"),
        help="when the agent asks first, from this turn on",
    )
    parser.add_argument(
        "-i",
        "--image",
        metavar="FILE",
        action="append",
        default=[],
        help="with an image; may be given several times",
    )
    parser.add_argument("-C", "--cwd", metavar="DIR", help="begin a new thread in this folder")
    for_clients(parser, thread=True)


def add_chat(commands: Commands) -> None:
    """`chat`."""
    parser = command(
        commands,
        "chat",
        "trimpoint.tui.command:run",
        "talk with the agent in a terminal UI",
        CHAT,
    )
    parser.add_argument("--new", action="store_true", help="begin a new thread")
    thread_options(parser)
    add_location_options(parser)


def add_probe(commands: Commands) -> None:
    """`probe`."""
    parser = command(
        commands,
        "probe",
        "thread_commands.probe:run",
        "send any method by hand, or run a prompt",
        PROBE,
    )
    parser.add_argument(
        "method",
        metavar="METHOD",
        nargs="?",
        help="any app-server method, or one of trimpoint's own",
    )
    parser.add_argument(
        "params",
        metavar="PARAMS",
        nargs="?",
        help="its parameters, a JSON object; - reads them from stdin",
    )
    parser.add_argument(
        "--follow", metavar="SECONDS", type=seconds, help="print notifications for so long"
    )
    parser.add_argument("--until", metavar="METHOD", help="print notifications until this one")
    parser.add_argument(
        "--prompt",
        metavar="TEXT",
        help="run a turn and stream the answer; the agent's questions are put to you",
    )
    parser.add_argument(
        "--cwd", metavar="DIR", help="with --prompt: where a new thread works (default: here)"
    )
    for_clients(parser, thread=True)


def add_shutdown(commands: Commands) -> None:
    """`shutdown`."""
    parser = command(
        commands, "shutdown", "daemon_commands.shutdown:run", "stop the daemon and its Codex"
    )
    for_clients(parser)


def add_journal(commands: Commands) -> None:
    """`journal`."""
    parser = commands.add_parser(
        "journal",
        help="look at the journals on disk, check, repair and export them",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    _offline(actions, "inspect", "show the journals, or all about one")
    _offline(actions, "verify", "read everything and say what is wrong; exit code 1 if anything is")
    repair = _offline(
        actions, "repair", "cut off torn ends; no daemon may run, and nothing is deleted", REPAIR
    )
    repair.add_argument(
        "--salvage",
        action="store_true",
        help="write damaged journals anew with all that can still be read",
    )
    expire = _offline(
        actions, "expire", "remove what the rule in [retention] names; no daemon may run", EXPIRE
    )
    expire.add_argument("--dry-run", action="store_true", help="only show what would go")
    export = _offline(actions, "export", "write events as JSON lines, of all threads or one")
    export.add_argument(
        "--private",
        action="store_true",
        help="with what no client is shown: Codex's own ids, raw items, settings",
    )


def _offline(
    actions: Commands, name: str, summary: str, details: str = ""
) -> argparse.ArgumentParser:
    run = f"daemon_commands.journal:run_{name}"
    parser = command(actions, name, run, summary, details, "journal")
    parser.add_argument(
        "-t",
        "--thread",
        metavar="ID",
        help="which thread: its id, or the beginning or end of it (default: all)",
    )
    json_option(parser)
    parser.add_argument("--state-dir", metavar="DIR", help="where the journals are")
    parser.add_argument("--config", metavar="FILE", help="configuration file (TOML)")
    parser.set_defaults(socket=None)
    return parser


def add_service(commands: Commands) -> None:
    """`service`."""
    parser = command(
        commands,
        "service",
        "daemon_commands.service:run_status",
        "run the daemon as a systemd service of yours",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    for action, summary, changes in (
        (
            "install",
            "write the units and have systemd listen; the first client starts the daemon",
            True,
        ),
        ("uninstall", "stop the service and remove its units; journals stay", True),
        ("status", "show what systemd knows of it", False),
    ):
        run = f"daemon_commands.service:run_{action}"
        sub = command(actions, action, run, summary, group="service")
        if changes:
            sub.add_argument(
                "--dry-run", action="store_true", help="print what would be done, and do nothing"
            )
        json_option(sub)
        if action == "install":
            as_codex_daemon(sub)
        for_daemons(sub)
    logs = command(actions, "logs", "daemon_commands.service:run_logs", "show its log")
    logs.add_argument("-f", "--follow", action="store_true", help="go on showing it, until Ctrl-C")
    logs.add_argument(
        "-n",
        "--lines",
        metavar="N",
        type=positive,
        default=100,
        help="the newest N lines (default 100)",
    )


def add_doctor(commands: Commands) -> None:
    """`doctor`."""
    parser = command(
        commands,
        "doctor",
        "daemon_commands.doctor:run",
        "say what is found on this machine, what is wrong and what to do",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="with everything that is all right, and all settings",
    )
    json_option(parser)
    for_daemons(parser)


def add_schema(commands: Commands) -> None:
    """`schema`."""
    parser = command(
        commands,
        "schema",
        "daemon_commands.schema:run",
        "write what trimpoint adds to the protocol as JSON Schema",
    )
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="where to write; created if missing"
    )
    json_option(parser)


def add_demo(commands: Commands) -> None:
    """`demo`."""
    parser = command(
        commands,
        "demo",
        "daemon_commands.demo:run",
        "see /clear, /compact and /new at work, in a minute and without an account",
    )
    parser.add_argument("--plain", action="store_true", help="no colour and no animation")
    parser.add_argument("--web", action="store_true", help="play it in the web page, live")
    parser.add_argument(
        "--print", action="store_true", help="with --web: print the address, open no browser"
    )
    parser.add_argument("--codex", metavar="PATH", help="the Codex binary to run")
    json_option(parser)


def add_unlisted(commands: Commands) -> None:
    """Returns what `trimpoint` alone and `trimpoint --version` do."""
    overview = commands.add_parser("overview", allow_abbrev=False)
    overview.set_defaults(run="trimpoint.cli.thread_commands.overview:run", command="overview")
    for_clients(overview)
    version = commands.add_parser("version", allow_abbrev=False)
    version.set_defaults(run="trimpoint.cli.daemon_commands.version:run", command="version")
    json_option(version)


def add_logs(commands: Commands) -> None:
    """`logs`."""
    parser = command(
        commands, "logs", "daemon_commands.logs:run", "show the daemon's log, wherever it goes"
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on showing it, until Ctrl-C"
    )
    parser.add_argument(
        "-n",
        "--lines",
        metavar="N",
        type=positive,
        default=100,
        help="the newest N lines (default 100)",
    )
    add_location_options(parser)


def add_config(commands: Commands) -> None:
    """`config`."""
    parser = command(
        commands, "config", "daemon_commands.config:run_show", "show or begin the configuration"
    )
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    for action, summary in (
        ("show", "show what is in force and where it comes from"),
        ("init", "write a file with all settings, commented out"),
        ("path", "print where the file is"),
        ("socket", "print where the daemon listens, or would"),
    ):
        run = f"daemon_commands.config:run_{action}"
        sub = command(actions, action, run, summary, group="config")
        json_option(sub)
        for_daemons(sub)


def add_completion(commands: Commands) -> None:
    """`completion`."""
    parser = command(
        commands,
        "completion",
        "daemon_commands.completion:run",
        "print what makes a shell complete trimpoint",
        COMPLETION,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")
    parser.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
