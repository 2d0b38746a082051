"""A client that asks a daemon for its status again and again. For each line on its input it prints
how long the longest answer took since the line before, in milliseconds.
"""

import select
import sys
import time
from pathlib import Path

from benchmarks.wire import connected

PAUSE_S = 0.001


def main(socket: str) -> None:
    """Asks until the input ends."""
    wire, _ = connected(Path(socket))
    longest_s = 0.0
    while True:
        began = time.perf_counter()
        wire.request("sidecar/status")
        longest_s = max(longest_s, time.perf_counter() - began)
        if select.select([sys.stdin], [], [], PAUSE_S)[0]:
            if not sys.stdin.readline():
                return
            print(longest_s * 1000, flush=True)
            longest_s = 0.0


if __name__ == "__main__":
    main(sys.argv[1])
