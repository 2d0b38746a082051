"""`scripts/soak`: runs the soak and prints the verdicts; the exit code is 1 if a limit was
exceeded.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.daemons import real_codex
from benchmarks.measures import Outcome
from benchmarks.report import as_json, is_met, show, write
from benchmarks.rows import Row
from benchmarks.soak.life import CONFIG, Life
from benchmarks.soak.samples import figures, judged
from benchmarks.stage import Bench, set_stage


def main() -> int:
    """Runs the soak. Returns 0 if all limits were kept, 1 if one was exceeded, 2 for a wrong
    command line.
    """
    arguments = _parser().parse_args()
    with set_stage(arguments.dir, quick=False) as stage:
        row = Row("soak", "A long life", partial(soaked, more=goes_on(arguments)))
        results = [(row, row.run(stage))]
    if arguments.json is not None:
        write(arguments.json, as_json(results, quick=False))
    show(Console(), results)
    return 0 if is_met(results) else 1


def soaked(stage: Bench, more: Callable[[Life], bool]) -> Outcome:
    """Keeps a daemon busy while `more` returns true, and returns the outcome."""
    room = stage.room("soak")
    with real_codex() as codex, codex.daemon(room, CONFIG) as running:
        life = Life(running, codex, room)
        try:
            life.live(more)
        finally:
            lived = ", ".join(f"{count:,} {what}" for what, count in life.lived.items())
            Console(stderr=True).print(f"[dim]{lived}[/]", highlight=False)
    return Outcome(judged(life.samples), figures(life.samples))


def goes_on(arguments: argparse.Namespace) -> Callable[[Life], bool]:
    """Returns a function that tells whether another round is to be run."""
    if arguments.turns is not None:
        return lambda life: life.lived["turns"] < arguments.turns
    ends_at = time.monotonic() + arguments.minutes * 60
    return lambda _: time.monotonic() < ends_at


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/soak", description="Keep a daemon busy and see that it stays as it was."
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--minutes", metavar="N", type=float, default=10.0, help="for so long (default 10)"
    )
    length.add_argument("--turns", metavar="N", type=int, help="until so many turns are done")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every sample there too")
    parser.add_argument("--dir", metavar="FOLDER", type=Path, help="work below this folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())
