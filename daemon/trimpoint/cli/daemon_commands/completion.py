"""`trimpoint completion`: what is to be typed next, for bash, zsh and fish.

The shells get a few lines each that ask `trimpoint completion SHELL --words WORD…` at every Tab, so
that commands, options, their values and the names of threads are always those of this installation.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress

from trimpoint.cli.exits import Exit
from trimpoint.cli.json_output import write_text
from trimpoint.cli.parsing.arguments import root_parser, sub_parsers

_SCRIPTS = {
    "bash": """\
_trimpoint() {
    local IFS=$'\\n'
    COMPREPLY=($(trimpoint completion bash --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _trimpoint trimpoint
""",
    "zsh": """\
#compdef trimpoint
_trimpoint() {
    local -a found
    found=("${(@f)$(trimpoint completion zsh --words "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then _describe trimpoint found; else _files; fi
}
compdef _trimpoint trimpoint
""",
    "fish": """\
function __trimpoint_complete
    set -l words (commandline -opc) (commandline -ct)
    trimpoint completion fish --words $words[2..-1] 2>/dev/null
end
complete -c trimpoint -f -n 'test -n "$(__trimpoint_complete)"' -a '(__trimpoint_complete)'
""",
}
_THREAD_DEADLINE_S = 1.0


def run(arguments: argparse.Namespace) -> int:
    """Print the shell's lines, or with --words what the last of them can become."""
    if arguments.words is None:
        sys.stdout.write(_SCRIPTS[arguments.shell])
        return Exit.DONE
    for word, help_text in candidates(arguments.words or [""]):
        summary = " ".join(help_text.split())
        match arguments.shell:
            case "zsh":
                word = word.replace(":", "\\:")
                write_text(f"{word}:{summary}\n" if summary else f"{word}\n")
            case "fish":
                write_text(f"{word}\t{summary}\n" if summary else f"{word}\n")
            case _:
                write_text(f"{word}\n")
    return Exit.DONE


def candidates(words: list[str]) -> Iterator[tuple[str, str]]:
    """Returns what the last word can become, with a word of help; none where a file's name or free
    text is next.
    """
    *before, typed = words
    parser: argparse.ArgumentParser = root_parser()
    for word in before:
        parser = sub_parsers(parser).get(word, parser)
    found = _values(parser, before[-1] if before else "")
    if found is None:
        found = (
            [*_commands(parser), *_options(parser)]
            if typed.startswith("-") or sub_parsers(parser)
            else _positionals(parser)
        )
    yield from ((word, text) for word, text in found if word.startswith(typed))


def _commands(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    shown = {
        name: sub.description or ""
        for name, sub in sub_parsers(parser).items()
        if name not in {"overview", "version"}
    }
    return list(shown.items())


def _options(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    return [
        (action.option_strings[-1], action.help or "")
        for action in actions
        if action.option_strings
    ]


def _values(parser: argparse.ArgumentParser, option: str) -> list[tuple[str, str]] | None:
    """The values of the option before the word; None when there is none that takes one."""
    for action in parser._actions:
        if option.startswith("-") and option in action.option_strings and action.nargs != 0:
            if action.dest == "thread":
                return _threads()
            return [(str(choice), "") for choice in action.choices or ()]
    return None


def _positionals(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    for action in parser._actions:
        if not action.option_strings and action.dest == "named":
            return _threads()
        if not action.option_strings and action.choices:
            return [(str(choice), "") for choice in action.choices]
    return []


def _threads() -> list[tuple[str, str]]:
    """The threads that a running daemon knows, those of this folder first; none where it cannot be
    asked quickly.
    """
    import anyio

    from trimpoint.cli.connection.connect import open_first, sockets_of
    from trimpoint.cli.connection.known_threads import here, own_threads
    from trimpoint.cli.connection.settings import settings_of

    async def ask() -> list[tuple[str, str]]:
        settings = settings_of(argparse.Namespace(socket=None, state_dir=None, config=None))
        with anyio.move_on_after(_THREAD_DEADLINE_S):
            async with open_first(sockets_of(settings)) as client:
                await client.initialize("trimpoint-completion")
                threads, place = await own_threads(client), here()
            ordered = sorted(threads, key=lambda thread: not thread.is_at(place))
            return [(thread.short_id, thread.title[:60]) for thread in ordered]
        return []

    with suppress(Exception):  # a boundary: a Tab must never print an error into the command line
        return anyio.run(ask)
    return []
