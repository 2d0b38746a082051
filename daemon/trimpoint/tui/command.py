"""`trimpoint chat`: chooses the thread, then starts the terminal UI."""

import argparse
from functools import partial
from pathlib import Path

from trimpoint import event_loop
from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import profile_asked, with_daemon
from trimpoint.cli.connection.known_threads import current_folder
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.connection.sockets import daemon_at
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.thread_commands.thread_choice import adopted, chosen_thread, last_thread_here
from trimpoint.tui.terminal import is_there


def run(arguments: argparse.Namespace) -> int:
    """Shows the thread that was named, or else the last one of this folder, or else a new one.

    :raises UsageError: when there is no terminal, or the options contradict each other.
    :raises CliError: when there is no such thread.
    """
    if not is_there():
        raise UsageError("chat needs a terminal.", "Elsewhere, use trimpoint ask and watch.")
    if arguments.new and (arguments.thread or arguments.last):
        raise UsageError(
            "--new begins a thread, but --thread and --last choose an old one.",
            "Give only one of them.",
        )
    chosen: list[tuple[str | None, str]] = []
    with_daemon(arguments, partial(_choose, arguments, chosen), says_version=False)
    return event_loop.run(_show, arguments, *chosen[0])


async def _choose(
    arguments: argparse.Namespace, chosen: list[tuple[str | None, str]], client: Client
) -> int:
    if arguments.thread or arguments.last:
        thread = await chosen_thread(client, arguments)
        chosen.append((thread.id, thread.cwd))
    elif arguments.new or (found := await last_thread_here(client)) is None:
        chosen.append((None, current_folder()))
    else:
        thread = found.overview or await adopted(client, found.id)
        chosen.append((thread.id, thread.cwd))
    return Exit.DONE


async def _show(arguments: argparse.Namespace, thread_id: str | None, cwd: str) -> int:
    from trimpoint.cli.connection.background import launch_of, socket_of_daemon
    from trimpoint.tui.model.state import ChatState
    from trimpoint.tui.session.changes import Changes
    from trimpoint.tui.session.chat import Chat
    from trimpoint.tui.session.drafts import Drafts
    from trimpoint.tui.session.link import Link
    from trimpoint.tui.widgets.app import ChatApp
    from trimpoint.tui.widgets.bindings import keymap
    from trimpoint.tui.widgets.terminal import ended_by_sigterm

    settings = settings_of(arguments)

    async def find() -> Path | None:
        return await daemon_at(settings)

    async def start() -> Path:
        return await socket_of_daemon(launch_of(settings, arguments))

    link = Link(find, start, profile_asked(arguments))
    state = ChatState(cwd, thread_id)
    drafts = Drafts(settings.state_dir / "chat-drafts")
    chat = Chat(link, state, Changes(), drafts)
    app = ChatApp(chat, is_loud=not arguments.quiet)
    try:
        app.set_keymap(keymap(settings.config.chat.keys))
    except ValueError as error:
        raise UsageError(f"{error}.", "See `trimpoint help configuration`.") from None
    with ended_by_sigterm(app):
        await app.run_async()
    return app.return_code or Exit.DONE
