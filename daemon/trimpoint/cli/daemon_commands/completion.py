"""`trimpoint completion`: completes words of a command line in bash, zsh and fish.

The script for each shell is a few lines that call `trimpoint completion SHELL --words WORD…` at
every Tab. So the commands, options, values and thread names are always those of this installation.
"""

import argparse
import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trimpoint.cli.exits import Exit
from trimpoint.cli.json_output import write_text
from trimpoint.cli.parsing.arguments import in_order, root_parser, sub_parsers
from trimpoint.cli.parsing.options import LOCATION_OPTIONS, takes_location

# bash shows what it would insert. A help text behind the word is taken off again once only one is
# left, and for those who have bash insert one after the other (COMP_TYPE 37 and 42).
# zsh runs a file of its `fpath` as the body of the function at the first Tab; the last lines make
# that Tab complete, too, and let the same text stand in a .zshrc.
_SCRIPTS = {
    "bash": """\
_trimpoint() {
    local IFS=$'\\n' line found
    found=($(trimpoint completion bash --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    COMPREPLY=()
    for line in "${found[@]}"; do
        if [[ ${#found[@]} -gt 1 && $line == *$'\\t'* && ! $COMP_TYPE =~ ^(37|42)$ ]]; then
            line="${line%%$'\\t'*}  (${line#*$'\\t'})"
            COMPREPLY+=("${line:0:$((${COLUMNS:-80} - 2))}")
        else
            COMPREPLY+=("${line%%$'\\t'*}")
        fi
    done
    [[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _trimpoint trimpoint
""",
    "zsh": """\
#compdef trimpoint
_trimpoint() {
    local -a found
    local asked=("${words[@]:1:$((CURRENT-1))}")
    found=("${(@f)$(trimpoint completion zsh --words "${asked[@]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then _describe -V trimpoint found; else _files; fi
}
if [[ "${funcstack[1]}" == _trimpoint ]]; then
    _trimpoint "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
    compdef _trimpoint trimpoint
fi
""",
    "fish": """\
function __trimpoint_complete
    set -l words (commandline -opc) (commandline -ct)
    trimpoint completion fish --words $words[2..-1] 2>/dev/null
end
complete -c trimpoint -f -n 'test -n "$(__trimpoint_complete)"' -k -a '(__trimpoint_complete)'
""",
}
_THREAD_OPTIONS = ("-t", "--thread")
# What may stand before the command.
_EARLY_OPTIONS = (
    ("--thread", "which thread"),
    ("--last", "the thread that was used last"),
    ("--json", "print JSON, for scripts"),
    *((option, text) for option, _, text in LOCATION_OPTIONS),
    ("--version", "what is installed"),
    ("--help", "all commands"),
)


class Candidate(NamedTuple):
    """A possible completion of a word, and its help text."""

    word: str
    summary: str = ""


def run(arguments: argparse.Namespace) -> int:
    """Prints the shell's script, or with `--words` the possible completions of the last word."""
    if arguments.words is None:
        sys.stdout.write(_SCRIPTS[arguments.shell])
        return Exit.DONE
    for word, summary in candidates(arguments.words or [""], arguments.shell):
        text = " ".join(summary.split())
        if arguments.shell == "zsh":
            word, separator = word.replace("\\", "\\\\").replace(":", "\\:"), ":"
        else:
            separator = "\t"
        write_text(f"{word}{separator}{text}\n" if text else f"{word}\n")
    return Exit.DONE


def candidates(words: list[str], shell: str = "bash") -> Iterator[Candidate]:
    """Yields the possible completions of the last word; none where a file name or free text comes
    next.
    """
    *before, typed = words
    parser: argparse.ArgumentParser = root_parser()
    root = parser
    for word in in_order(before, root)[0]:
        parser = sub_parsers(parser)[word]
    last = before[-1] if before else ""
    if last in _THREAD_OPTIONS:
        yield from _matching_threads(typed, shell)
    elif (values := _values(parser, last)) is not None:
        yield from _beginning_with(typed, values)
    elif typed.startswith("-"):
        yield from _beginning_with(typed, _EARLY_OPTIONS if parser is root else _options(parser))
    elif sub_parsers(parser):
        yield from _beginning_with(typed, [*_commands(parser), *_options(parser)])
    elif _takes_thread(parser):
        yield from _matching_threads(typed, shell)
    else:
        yield from _beginning_with(typed, _choices(parser))


def _beginning_with(typed: str, known: Iterable[tuple[str, str]]) -> Iterator[Candidate]:
    return (Candidate(word, text) for word, text in known if word.startswith(typed))


def _commands(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    return [
        (name, sub.description or "")
        for name, sub in sub_parsers(parser).items()
        if name != "version"
    ]


def _options(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    named = [
        (action.option_strings[-1], action.help or "")
        for action in actions
        if action.option_strings
    ]
    if takes_location(parser):
        named += [(option, text) for option, _, text in LOCATION_OPTIONS]
    return named


def _values(parser: argparse.ArgumentParser, option: str) -> list[tuple[str, str]] | None:
    """Returns the values of `option`; None if it is no option that takes a value."""
    for action in parser._actions:
        if option.startswith("-") and option in action.option_strings and action.nargs != 0:
            return [(str(choice), "") for choice in action.choices or ()]
    return None


def _takes_thread(parser: argparse.ArgumentParser) -> bool:
    return any(action.dest == "named" for action in parser._actions)


def _choices(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    for action in parser._actions:
        if not action.option_strings and action.choices:
            return [(str(choice), "") for choice in action.choices]
    return []


def _matching_threads(typed: str, shell: str) -> Iterator[Candidate]:
    """Yields the threads whose id begins with `typed`, each with its title; if none does, the
    threads whose title matches.

    bash then inserts the id. zsh and fish drop candidates that do not begin with the typed word, so
    they are given the title.
    """
    # Only a Tab at a thread takes as long as what it needs takes to import.
    threads = importlib.import_module("trimpoint.cli.connection.thread_titles").titles()
    by_id = [Candidate(word, title) for word, title in threads if word.startswith(typed)]
    yield from by_id
    if by_id or not typed:
        return
    for short_id, title in threads:
        if title.casefold().startswith(typed.casefold()):
            yield Candidate(short_id, title) if shell == "bash" else Candidate(title, short_id)
