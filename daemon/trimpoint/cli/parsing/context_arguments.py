"""Arguments of the commands that show or change the agent's context. They have the names of the
slash commands.
"""

from trimpoint.cli.parsing.options import (
    Commands,
    command,
    dry_run,
    for_clients,
    for_one_thread,
    positive,
    turn_count,
)


def add_clear(commands: Commands) -> None:
    """Adds the command `clear`."""
    parser = command(
        commands,
        "clear",
        "thread_commands.slash:run_clear",
        "clear the agent's context, keeping the last N turns",
    )
    parser.add_argument(
        "keep", metavar="N", nargs="?", type=turn_count, help="turns to keep; none without it"
    )
    dry_run(parser)
    for_clients(parser, thread=True)


def add_compact(commands: Commands) -> None:
    """Adds the command `compact`."""
    parser = command(
        commands,
        "compact",
        "thread_commands.slash:run_compact",
        "summarize the conversation and continue with the summary",
    )
    parser.add_argument(
        "--keep", metavar="N", type=turn_count, help="keep the last N turns word for word"
    )
    parser.add_argument("--model", metavar="M", help="the model that writes the summary")
    parser.add_argument("--force", action="store_true", help="compact a short conversation too")
    dry_run(parser)
    for_clients(parser, thread=True)
    parser.add_argument("guidance", nargs="*", help="what matters, for the summarizer")


def add_compress(commands: Commands) -> None:
    """Adds the command `compress`."""
    parser = command(
        commands,
        "compress",
        "thread_commands.slash:run_compress",
        "take what is no longer needed out of the agent's context",
    )
    parser.add_argument(
        "target",
        metavar="TOKENS",
        nargs="?",
        help="get down to about this many, such as 50000 or 50k",
    )
    dry_run(parser)
    for_clients(parser, thread=True)


def add_revert(commands: Commands) -> None:
    """Adds the command `revert`."""
    parser = command(
        commands,
        "revert",
        "thread_commands.slash:run_revert",
        "take files and context back to where they were after a turn",
        "A turn is its number in the conversation, counted from 1, pruned ones too (see trimpoint "
        "checkpoints); 0 is before the first. "
        "Without one, the last turn is taken back.",
    )
    parser.add_argument(
        "turn", metavar="TURN", nargs="?", help="number or id of the turn to go back to"
    )
    parser.add_argument("--undo", action="store_true", help="take back the last revert")
    parser.add_argument("--context", action="store_true", help="leave files alone")
    parser.add_argument(
        "--force",
        action="store_true",
        help="overwrite what others have made of the agent's changes",
    )
    dry_run(parser)
    for_clients(parser, thread=True)


def add_undo(commands: Commands) -> None:
    """Adds the command `undo`."""
    parser = command(
        commands,
        "undo",
        "thread_commands.slash:run_undo",
        "take back the last trim of the agent's context",
        "The last clear, compact, compress or automatic compaction; the turns since stay. "
        "Run it again to take back the trim before.",
    )
    parser.add_argument(
        "--redo", action="store_true", help="make it again, until something else is done"
    )
    parser.add_argument("--force", action="store_true", help="even where the context may not fit")
    dry_run(parser)
    for_clients(parser, thread=True)


def add_pin(commands: Commands) -> None:
    """Adds the command `pin`."""
    parser = command(
        commands,
        "pin",
        "thread_commands.slash:run_pin",
        "keep turns, or a sentence of yours, in the context whatever is trimmed",
        "Numbers are turns, counted from 1; without any, the last turn is pinned. What follows "
        "them is a note. A note without a turn is kept as a sentence of yours.",
    )
    parser.add_argument("--force", action="store_true", help="pin more than pins may hold")
    for_clients(parser, thread=True)
    parser.add_argument("words", metavar="TURN|NOTE", nargs="*", help="turns, then a note")


def add_unpin(commands: Commands) -> None:
    """Adds the command `unpin`."""
    parser = command(commands, "unpin", "thread_commands.slash:run_unpin", "remove pins")
    parser.add_argument(
        "numbers", metavar="N", nargs="*", type=positive, help="as trimpoint pins shows them"
    )
    for_clients(parser, thread=True)


def add_pins(commands: Commands) -> None:
    """Adds the command `pins`."""
    parser = command(
        commands, "pins", "thread_commands.slash:run_pins", "list what is pinned, and its weight"
    )
    for_clients(parser, thread=True)


def add_new(commands: Commands) -> None:
    """Adds the command `new`."""
    parser = command(
        commands,
        "new",
        "thread_commands.slash:run_new",
        "archive the thread and start an empty one on the same files",
    )
    parser.add_argument("--pins", action="store_true", help="begin it with what is pinned")
    dry_run(parser)
    for_clients(parser, thread=True)


def add_context(commands: Commands) -> None:
    """Adds the command `context`."""
    parser = command(
        commands, "context", "thread_commands.context:run", "show how full a thread's context is"
    )
    parser.add_argument(
        "--items", action="store_true", help="show each item that the model is sent next"
    )
    for_one_thread(parser)
