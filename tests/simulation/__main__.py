"""`python -m tests.simulation`: as many seeds as one has time for, on all cores."""

import argparse
import multiprocessing
import os
import time

from tests.simulation.loop import few_collections
from tests.simulation.world import simulate


def main() -> int:
    """Runs the seeds, and returns exit code 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, default=0, help="where to begin")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    seed, workers = arguments.seed, arguments.workers
    until = time.monotonic() + arguments.seconds
    with multiprocessing.Pool(workers) as pool:
        shares = [(seed + one, workers, until) for one in range(workers)]
        counts = pool.starmap(_run, shares, chunksize=1)
    failed = any(count is None for count in counts)
    held = sum(count or 0 for count in counts)
    print(f"{held} seeds from {seed}, {'not all' if failed else 'all'} held")
    return int(failed)


def _run(seed: int, step: int, until: float) -> int | None:
    with few_collections():
        return _run_until(seed, step, until)


def _run_until(seed: int, step: int, until: float) -> int | None:
    """Runs every so many seeds, and returns how many held, or None if one did not."""
    count = 0
    while not count or time.monotonic() < until:
        try:
            simulate(seed)
        except Exception as error:
            print(f"seed {seed}: {_first(error)}")
            print(f"again: python -m tests.simulation --seed {seed} --seconds 0 --workers 1")
            return None
        seed, count = seed + step, count + 1
    return count


def _first(error: BaseException) -> BaseException:
    """Returns the first of the exceptions of tasks."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    raise SystemExit(main())
