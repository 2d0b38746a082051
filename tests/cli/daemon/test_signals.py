"""A signal that arrives when the event loop is about to wait is handled at once."""

import signal
import subprocess
import sys

import pytest

from tests.deadlines import STEP_S

pytestmark = pytest.mark.processes

# Python notes a signal that another thread gets, and handles it when the main thread goes on, as
# with a signal that the main thread gets between its last instruction and the wait.
PROGRAM = """
import signal, sys, threading, time
from pathlib import Path
import anyio
from trimpoint import event_loop
from trimpoint.cli.connection.serving.foreground import StopSignals

main_thread = Path(f"/proc/self/task/{threading.get_native_id()}/stat")

def waits():
    return main_thread.read_text().rpartition(")")[2].split()[0] == "S"

def signal_once_the_loop_waits(number):
    sys.stdin.readline()
    while not waits():
        time.sleep(0)
    signal.raise_signal(number)  # to this thread

async def until(stop, number):
    threading.Thread(target=signal_once_the_loop_waits, args=(number,), daemon=True).start()
    print("waits", flush=True)
    if stop is None:
        await anyio.sleep_forever()
    print((await stop.wait()).name)

number = signal.Signals[sys.argv[2]]
stop = StopSignals() if sys.argv[1] == "daemon" else None
try:
    event_loop.run(until, stop, number)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("kind", "number", "then"),
    [
        ("command", signal.SIGINT, "interrupted"),
        ("daemon", signal.SIGINT, "SIGINT"),
        ("daemon", signal.SIGTERM, "SIGTERM"),
    ],
)
def test_a_signal_wakes_an_event_loop_that_waits(
    kind: str, number: signal.Signals, then: str
) -> None:
    command = [sys.executable, "-c", PROGRAM, kind, number.name]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "waits\n"
            assert process.communicate("go\n", timeout=STEP_S) == (f"{then}\n", None)
        finally:
            process.kill()
