"""`scripts/bench`: runs benchmarks and prints the results; the exit code is 1 if a bar was
missed.
"""

import argparse
import signal
import sys
import traceback
from pathlib import Path

from rich.console import Console

from benchmarks.report import Failed, Results, as_json, is_met, lines, show, write
from benchmarks.rows import ROWS, Row
from benchmarks.stage import Bench, set_stage

# A row that takes longer has got stuck.
ROW_DEADLINE_S = 900


def main() -> int:
    """Runs the chosen benchmarks. Returns 0 if every bar was met, 1 if one was missed or a row
    failed, 2 for a wrong command line.
    """
    arguments = _parser().parse_args()
    console = Console(stderr=True)
    rows = _chosen(arguments.only)
    with set_stage(arguments.dir, quick=arguments.quick) as stage:
        results, failed = run_rows(rows, stage, console)
    if arguments.json is not None:
        write(arguments.json, as_json(results, quick=arguments.quick, failed=failed))
    show(Console(), results, failed)
    return 0 if is_met(results) and not failed else 1


def run_rows(rows: list[Row], stage: Bench, console: Console) -> tuple[Results, Failed]:
    """Runs the rows, and prints what each has found when it is known. Returns the results, and
    the rows that failed with the reason: a row that fails costs no other.
    """
    results: Results = []
    failed: list[tuple[Row, str]] = []
    for row in rows:
        console.print(f"[dim]… {row.what}[/]", highlight=False)
        signal.alarm(ROW_DEADLINE_S)
        try:
            outcome = row.run(stage)
        except Exception as error:  # whatever a benchmark of any kind can meet
            traceback.print_exception(error, file=console.file)
            failed.append((row, f"{type(error).__name__}: {error}".splitlines()[0]))
            continue
        finally:
            signal.alarm(0)
        results.append((row, outcome))
        for line in lines(outcome):
            console.print(f"  {line}", highlight=False, markup=False)
    return results, failed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Hold trimpoint against its budgets.", allow_abbrev=False
    )
    parser.add_argument(
        "--only",
        metavar="ROW,…",
        help=f"some rows: {', '.join(row.name for row in ROWS)}; "
        f"without it all but {', '.join(row.name for row in ROWS if row.only_named)}",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, to see that it works; the ratios mean little",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the results there too")
    parser.add_argument(
        "--dir",
        metavar="FOLDER",
        type=Path,
        help="work below this folder, on the disk that is to be measured",
    )
    return parser


def _chosen(only: str | None) -> list[Row]:
    if only is None:
        return [row for row in ROWS if not row.only_named]
    names = only.split(",")
    unknown = set(names) - {row.name for row in ROWS}
    if unknown:
        _parser().error(
            f"there is no row {', '.join(sorted(unknown))}; there are "
            f"{', '.join(row.name for row in ROWS)}"
        )
    return [row for row in ROWS if row.name in names]


def _give_up(number: int, frame: object) -> None:
    del number, frame
    raise TimeoutError(f"a benchmark took longer than {ROW_DEADLINE_S} seconds")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _give_up)
    sys.exit(main())
