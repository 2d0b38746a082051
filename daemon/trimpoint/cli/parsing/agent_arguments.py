"""Arguments of the commands that talk with the agent: a single prompt, the terminal UI, the web
page, or any method.
"""

from trimpoint.cli.parsing.options import (
    Commands,
    add_location_options,
    command,
    for_clients,
    for_one_thread,
    seconds,
    thread_options,
)
from trimpoint.core.commands.trust import Trust
from trimpoint.core.model.spelling import Spelling

OPEN = """\
Starts a daemon if none runs, and has it serve the page at 127.0.0.1. The address works once,
within two minutes; the browser is then logged in for 30 days. Over SSH it is printed.
"""
CHAT = """\
Without a thread it continues the last one of this folder, or begins one. ? shows the keys.
"""

TUI = """\
Runs codex --remote on the daemon, in this folder. A command of trimpoint begins with a colon
there, not with a slash (trimpoint help codex-tui).
examples:
  trimpoint tui
  trimpoint --last tui            go on in the thread that was used last
  trimpoint tui -m gpt-5 "What does this project do?"
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
    """Adds the command `open`."""
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
    for_one_thread(parser)


def add_desktop(commands: Commands) -> None:
    """Adds the command `desktop`."""
    parser = command(
        commands,
        "desktop",
        "programs.desktop:run",
        "show the web page in a window of its own",
        DESKTOP,
    )
    parser.add_argument("-t", "--thread", metavar="ID", help="show this thread")
    add_location_options(parser)
    parser.add_argument("--codex", metavar="PATH", help="the Codex binary to run")


def add_ask(commands: Commands) -> None:
    """Adds the command `ask`."""
    parser = command(
        commands,
        "ask",
        "thread_commands.turns.ask:run",
        "ask the agent something, and watch it work",
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


def add_trust(commands: Commands) -> None:
    """Adds the command `trust`."""
    parser = command(
        commands,
        Trust.command,
        "thread_commands.trust:run",
        f"{Trust.summary[:1].lower()}{Trust.summary[1:]}",
        Trust.explanation(Spelling.SHELL),
    )
    parser.add_argument(
        "answer", metavar="YES|NO", nargs="?", choices=("yes", "no"), help="what is to become of it"
    )
    parser.add_argument("-C", "--cwd", metavar="DIR", help="another folder than this one")
    for_clients(parser)


def add_chat(commands: Commands) -> None:
    """Adds the command `chat`."""
    parser = command(
        commands,
        "chat",
        "trimpoint.tui.command:run",
        "talk with the agent in a terminal UI",
        CHAT,
    )
    parser.add_argument("--new", action="store_true", help="begin a new thread")
    parser.add_argument(
        "--quiet", action="store_true", help="do not ring or notify when a thread asks or ends"
    )
    thread_options(parser)
    add_location_options(parser)


def add_tui(commands: Commands) -> None:
    """Adds the command `tui`."""
    parser = command(
        commands,
        "tui",
        "thread_commands.codex_tui:run",
        "talk with the agent in Codex's own terminal UI",
        TUI,
    )
    parser.add_argument(
        "words",
        metavar="ARGUMENT",
        nargs="*",
        help="what Codex takes: a prompt, resume, -m MODEL …",
    )
    thread_options(parser)
    add_location_options(parser)


def add_probe(commands: Commands) -> None:
    """Adds the command `probe`."""
    parser = command(
        commands,
        "probe",
        "thread_commands.turns.probe:run",
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
