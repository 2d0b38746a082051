"""`trimpoint probe`: calls a method and prints its result and the notifications that follow, or
runs a prompt.
"""

import argparse
import sys
from functools import partial
from typing import Any, cast

import anyio
import orjson
from rich.console import Console
from rich.json import JSON
from rich.text import Text

from trimpoint.cli.connection.client import Client, Message, RemoteError
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.refusals import refused
from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.terminal import print_json, printable, show_error, stdout_console
from trimpoint.cli.thread_commands.turns.prompt import prompt

_EXAMPLE = (
    'For example: trimpoint probe thread/read \'{"threadId": "…"}\'. See trimpoint probe --help.'
)


def run(arguments: argparse.Namespace) -> int:
    """Calls the method, or runs the prompt.

    :raises UsageError: when not exactly one of a method and a prompt was given, or the parameters
        are not valid.
    """
    if (arguments.method is None) == (arguments.prompt is None):
        raise UsageError("Probe takes a METHOD, or --prompt TEXT.", _EXAMPLE)
    if arguments.prompt is not None:
        _check_prompt(arguments)
        return with_daemon(arguments, partial(prompt, arguments))
    return with_daemon(arguments, partial(_probe, arguments, _params(arguments.params)))


def _check_prompt(arguments: argparse.Namespace) -> None:
    if not arguments.prompt.strip():
        raise UsageError(
            "The prompt is empty.", 'For example: --prompt "What does this project do?"'
        )
    if arguments.follow is not None or arguments.until is not None:
        raise UsageError(
            "--follow and --until go with a METHOD.",
            "A prompt is always followed to the end of its turn.",
        )


def _params(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        params: Any = orjson.loads(sys.stdin.buffer.read() if text == "-" else text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"The parameters are not JSON: {error}.", _EXAMPLE) from None
    if not isinstance(params, dict):
        raise UsageError("The parameters are JSON, but not an object.", _EXAMPLE)
    return cast("dict[str, Any]", params)


async def _probe(arguments: argparse.Namespace, params: dict[str, Any], client: Client) -> int:
    show = _show_json if arguments.json else partial(_show, stdout_console())
    try:
        result = await client.request(arguments.method, **params)
    except RemoteError as error:
        if arguments.json:
            data: dict[str, Any] = {} if error.data is None else error.data
            print_json({"error": {"code": error.code, "message": error.message, "data": data}})
            return refused(error).code
        show_error(_explained(arguments.method, refused(error)))
        return refused(error).code
    if arguments.json:
        print_json({"result": result})
    else:
        _print_value(stdout_console(), result)
    if arguments.until is not None or arguments.follow is not None:
        await _follow(arguments, client, show)
    return Exit.DONE


def _explained(method: str, error: CliError) -> CliError:
    """Returns the refusal, with a hint about `trimpoint ask` if a prompt was typed in place of a
    method.
    """
    if "unknown variant" in error.message and "/" not in method:
        error.hint = f"{method} is not a method. To send it to the agent:  trimpoint ask {method}"
    return error


async def _follow(arguments: argparse.Namespace, client: Client, show: Any) -> None:
    with anyio.move_on_after(arguments.follow) as scope:
        async for message in client.stream():
            show(message)
            if message.get("method") == arguments.until:
                return
    if scope.cancelled_caught and arguments.until is not None:
        raise CliError(f"{arguments.until} did not arrive within {arguments.follow:g} seconds.")


def _show_json(message: Message) -> None:
    print_json(message)


def _show(console: Console, message: Message) -> None:
    arrow, style = ("?", "bold yellow") if "id" in message else ("←", "cyan")
    console.print(
        Text.assemble((f"{arrow} ", style), (printable(str(message.get("method"))), style))
    )
    _print_value(console, message.get("params"))


def _print_value(console: Console, value: Any) -> None:
    """Prints a value as indented JSON. Long lines are not wrapped, so that the text can be
    copied.
    """
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    console.print(JSON(printable(text)) if console.is_terminal else Text(text), soft_wrap=True)
