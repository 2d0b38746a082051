"""`python -m tests.simulation`: as many seeds as one has time for."""

import argparse
import time

from tests.simulation.world import simulate


def main() -> int:
    """Runs the seeds, and returns exit code 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, default=0, help="where to begin")
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    seed, until = arguments.seed, time.monotonic() + arguments.seconds
    while time.monotonic() < until:
        try:
            simulate(seed)
        except BaseException:
            print(f"seed {seed}; again: python -m tests.simulation --seed {seed} --seconds 0.1")
            raise
        seed += 1
    print(f"{seed - arguments.seed} seeds from {arguments.seed}, all held")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
