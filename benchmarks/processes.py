"""Measurements of a running process, from Linux's /proc."""

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Returns the processor time of the process in seconds, user and system, in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def clock_of(pid: int) -> int:
    """Returns the clock, for `time.clock_gettime`, of the processor time of all threads of another
    process.
    """
    return ~pid << 3 | 2  # as clock_getcpuclockid(3) does


def rss_mib(pid: int) -> float:
    """Returns the resident memory in MiB."""
    return _memory_mib(pid, "VmRSS")


def peak_rss_mib(pid: int) -> float:
    """Returns the peak of resident memory in MiB since the start or the last `reset_peak`."""
    return _memory_mib(pid, "VmHWM")


def reset_peak(pid: int) -> None:
    """Resets `peak_rss_mib`."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def open_files(pid: int) -> int:
    """Returns the number of open file descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def _memory_mib(pid: int, member: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{member}:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} has ended")
