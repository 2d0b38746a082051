"""`trimpoint … app-server …`: called as a client calls its codex binary (spec §8).

The overrides before `app-server` are Codex's too: that is how the official Python SDK passes its own.
"""

import argparse
import importlib
import os
from collections.abc import Iterator
from typing import NoReturn

from trimpoint.cli.arguments import override, parse
from trimpoint.cli.exits import UsageError

NAME = "app-server"
# Codex's own tools about its protocol: nothing of a conversation passes through them.
_FOR_CODEX = frozenset({"generate-ts", "generate-json-schema"})
_STDIO = "stdio://"
_HINT = (
    "trimpoint app-server takes -c KEY=VALUE, --config KEY=VALUE, --enable FEATURE, --disable FEATURE and "
    "--listen stdio://, and answers at stdin and stdout. For a socket use trimpoint serve --socket PATH."
)


def is_meant(arguments: list[str]) -> bool:
    """Whether this is a command line for Codex: `app-server`, after nothing but overrides."""
    words = iter(arguments)
    for word in words:
        if word in {"-c", "--config", "--enable", "--disable"}:
            next(words, None)
        elif not word.startswith(("-c", "--config=", "--enable=", "--disable=")):
            return word == NAME
    return False


def run(arguments: list[str]) -> int:
    """Serve the client at stdin and stdout, or become Codex for what is Codex's alone.

    :raises UsageError: it asks for something that trimpoint does not do.
    """
    if _FOR_CODEX.intersection(arguments):
        _become_codex(arguments)
    if {"-h", "--help"}.intersection(arguments):
        parse(["stdio", "--help"])
    overrides = list(_overrides(arguments))
    whereabouts = {"socket": None, "state_dir": None, "config": None, "codex": None}
    return int(importlib.import_module("trimpoint.cli.stdio").run(argparse.Namespace(overrides=overrides, **whereabouts)))


def _overrides(arguments: list[str]) -> Iterator[str]:
    words = iter(arguments)
    for word in words:
        option, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        match option:
            case "-c" | "--config":
                yield _checked(value if equals else next(words, ""))
            case "--enable" | "--disable":
                yield f"features.{value if equals else next(words, '')}={'true' if option == '--enable' else 'false'}"
            case "--listen":
                _check_listen(value if equals else next(words, ""))
            case "--stdio":
                pass
            case _ if word != NAME:
                raise UsageError(f"trimpoint app-server does not take {word!r}.", _HINT)
            case _:
                pass


def _checked(text: str) -> str:
    try:
        return override(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"-c {error}.", _HINT) from None


def _check_listen(url: str) -> None:
    if url != _STDIO:
        raise UsageError(f"trimpoint app-server listens on {_STDIO} only, not on {url!r}.", _HINT)


def _become_codex(arguments: list[str]) -> NoReturn:
    settings = importlib.import_module("trimpoint.cli.settings")
    codex = str(settings.codex_binary(argparse.Namespace(config=None, codex=None)))
    os.execv(codex, [codex, *arguments])
