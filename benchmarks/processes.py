"""What Linux says about a running process."""

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """CPU seconds that the process has used, in user mode and in the kernel, in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def rss_mib(pid: int) -> float:
    """Resident memory."""
    return _memory_mib(pid, "VmRSS")


def peak_rss_mib(pid: int) -> float:
    """The most resident memory since the start, or since `reset_peak`."""
    return _memory_mib(pid, "VmHWM")


def reset_peak(pid: int) -> None:
    """Begins `peak_rss_mib` anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def open_files(pid: int) -> int:
    """Returns how many file descriptors are open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def _memory_mib(pid: int, member: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{member}:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} has ended")
