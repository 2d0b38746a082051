"""`scripts/fuzz`: a campaign of any length."""

import argparse
import random

import anyio

from tests.e2e.conftest import opened_harness
from tests.fuzz.campaign import Failed, run_campaign


async def _run(seconds: float, seed: int) -> int:
    print(f"from seed {seed}, {seconds:g} s", flush=True)
    async with opened_harness() as harness:
        try:
            count = await run_campaign(harness, seed, seconds=seconds)
        except Failed as failed:
            print(
                f"{failed}\nAgain: scripts/fuzz --seed {str(failed).split()[1].rstrip(':')} --seconds 1",
                flush=True,
            )
            return 1
    print(f"{count} clients, all held", flush=True)
    return 0


def main() -> int:
    """Runs the campaign, and returns exit code 1 when a property did not hold."""
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz", description="Send nonsense to a live daemon on the real Codex."
    )
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument(
        "--seed", type=int, default=None, help="where to begin; by chance without it"
    )
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**9)
    return anyio.run(_run, arguments.seconds, seed)


if __name__ == "__main__":
    raise SystemExit(main())
