"""`trimpoint help PAGE`: shows a page of the documents."""

import argparse

from rich.markdown import Markdown

from trimpoint.cli.exits import Exit
from trimpoint.cli.json_output import write_text
from trimpoint.cli.pager import paged
from trimpoint.cli.terminal import stdout_console
from trimpoint.documents import text_of


def run(arguments: argparse.Namespace) -> int:
    """Shows the page: formatted on a terminal, as Markdown otherwise."""
    text = text_of(arguments.document) or ""
    if not stdout_console().is_terminal:
        write_text(text)
        return Exit.DONE
    with paged() as console:
        console.print(Markdown(text, hyperlinks=False, code_theme="ansi_dark"))
    return Exit.DONE
