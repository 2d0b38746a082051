"""`trimpoint … app-server …`: accepts the command line of `codex app-server`, for clients that are
configured with trimpoint as their codex binary (docs/spec/running.md).

Overrides (`-c`) may stand before `app-server`, as the official Python SDK writes them.
"""

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimpoint.cli.exits import UsageError
from trimpoint.cli.parsing.arguments import parse
from trimpoint.cli.parsing.options import override

NAME = "app-server"
_FOR_OVERRIDES = frozenset({"-c", "--config", "--enable", "--disable"})
# Codex takes these before `app-server` and they do nothing to it: they are for its terminal UI
# (measured: 0.163).
_WITHOUT_EFFECT = frozenset(
    {
        "--oss", "--approve-for-me", "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust", "--search", "--no-alt-screen",
    }
)  # fmt: skip
_VALUE_WITHOUT_EFFECT = frozenset(
    {
        "-m",
        "--model",
        "-s",
        "--sandbox",
        "-a",
        "--ask-for-approval",
        "-C",
        "--cd",
        "--add-dir",
        "--local-provider",
    }
)
# What an editor's extension sends. Codex is one for all clients here, and reports about none unless
# its configuration says so.
_NOT_FOR_ONE_CLIENT = frozenset({"--analytics-default-enabled"})
_STDIO, _UNIX, _WS = "stdio://", "unix://", "ws://"
_HINT = (
    "trimpoint app-server takes -c KEY=VALUE, --config KEY=VALUE, --enable FEATURE, --disable "
    "FEATURE and "
    "--listen stdio://, unix://PATH or ws://HOST:PORT. For ws:// clients show the token of "
    "`trimpoint daemon token`."
)
_NOWHERE = {"socket": None, "state_dir": None, "config": None, "codex": None}


def is_meant(arguments: list[str]) -> bool:
    """Returns whether `arguments` are a command line of Codex's app-server: `app-server` preceded
    only by options of Codex.
    """
    return first_word(arguments) == NAME


def first_word(arguments: list[str]) -> str | None:
    """Returns the first word that is neither an option of Codex nor an option's value."""
    words = iter(arguments)
    for word in words:
        option, attached = _option(word)
        if option in _FOR_OVERRIDES | _VALUE_WITHOUT_EFFECT:
            _value(attached, words)
        elif option not in _WITHOUT_EFFECT:
            return word
    return None


def _option(word: str) -> tuple[str, str | None]:
    """Splits a word into an option and its attached value: after `=`, or directly after a
    one-letter option; the value is None if there is none.
    """
    if word.startswith("--"):
        option, equals, value = word.partition("=")
        return option, value if equals else None
    return word[:2], word[2:].removeprefix("=") if word[2:] else None


def _value(attached: str | None, words: Iterator[str]) -> str:
    return next(words, "") if attached is None else attached


def run(arguments: list[str]) -> int:
    """Serves a client on stdin and stdout, or clients at a socket.

    :raises UsageError: when an option is given that trimpoint does not support.
    """
    if {"-h", "--help"}.intersection(arguments):
        parse(["stdio", "--help"])
    if arguments[-1:] == ["proxy"] or "proxy" in arguments[-3:-1]:
        return _proxy(arguments)
    words = argparse.Namespace(
        overrides=list(_overrides(arguments)), json=False, background=False, **_NOWHERE
    )
    url = _listen_url(arguments)
    if url == _STDIO:
        return int(importlib.import_module("trimpoint.cli.programs.stdio").run(words))
    if url.startswith(_UNIX):
        words.socket = url.removeprefix(_UNIX) or str(_commands("proxy").control_socket())
    else:
        words.http_listen = url.removeprefix(_WS)
    return int(_commands("serve").run(words))


def _proxy(arguments: list[str]) -> int:
    """Relays to the socket that `--sock` names, or to the running daemon."""
    words = arguments[arguments.index("proxy") + 1 :]
    match [part for word in words for part in word.split("=", 1)]:
        case []:
            named = None
        case ["--sock", path]:
            named = Path(path)
        case _:
            raise UsageError(
                f"trimpoint app-server proxy does not take {' '.join(words)!r}.",
                "It takes --sock PATH.",
            )
    settings = importlib.import_module("trimpoint.cli.connection.settings")
    return int(_commands("proxy").run(settings.settings_of(argparse.Namespace(**_NOWHERE)), named))


def _commands(name: str) -> Any:
    return importlib.import_module(f"trimpoint.cli.programs.{name}")


def _listen_url(arguments: list[str]) -> str:
    words, url = iter(arguments), _STDIO
    for word in words:
        option, attached = _option(word)
        if option == "--listen":
            url = _value(attached, words)
    return url


def _overrides(arguments: list[str]) -> Iterator[str]:
    words = iter(arguments)
    for word in words:
        option, attached = _option(word)
        match option:
            case "-c" | "--config":
                yield _checked(_value(attached, words))
            case "--enable" | "--disable":
                enabled = "true" if option == "--enable" else "false"
                yield f"features.{_value(attached, words)}={enabled}"
            case "--listen":
                _check_listen(_value(attached, words))
            case _ if option in _VALUE_WITHOUT_EFFECT:
                _value(attached, words)
            case _ if word != NAME and option not in _WITHOUT_EFFECT | _NOT_FOR_ONE_CLIENT | {
                "--stdio"
            }:
                raise UsageError(f"trimpoint app-server does not take {word!r}.", _HINT)
            case _:
                pass


def _checked(text: str) -> str:
    try:
        return override(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"-c {error}.", _HINT) from None


def _check_listen(url: str) -> None:
    if url != _STDIO and not url.startswith((_UNIX, _WS)):
        raise UsageError(f"trimpoint app-server does not listen on {url!r}.", _HINT)
