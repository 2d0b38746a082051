"""A client that asks a daemon for its status again and again. For each line on its input it prints,
in milliseconds, how long the longest answer took since the line before, and the most processor time
that the daemon took meanwhile for one of them.
"""

import select
import sys
import time
from pathlib import Path

from benchmarks.processes import clock_of
from benchmarks.wire import connected

PAUSE_S = 0.001


def main(socket: str, daemon: str) -> None:
    """Asks until the input ends."""
    wire, _ = connected(Path(socket))
    clocks = (time.CLOCK_MONOTONIC, clock_of(int(daemon)))
    longest = [0.0, 0.0]
    while True:
        began = [*map(time.clock_gettime, clocks)]
        wire.request("sidecar/status")
        ended = map(time.clock_gettime, clocks)
        longest = [
            max(most, end - begin) for most, end, begin in zip(longest, ended, began, strict=True)
        ]
        if select.select([sys.stdin], [], [], PAUSE_S)[0]:
            if not sys.stdin.readline():
                return
            print(*(seconds * 1000 for seconds in longest), flush=True)
            longest = [0.0, 0.0]


if __name__ == "__main__":
    main(*sys.argv[1:])
