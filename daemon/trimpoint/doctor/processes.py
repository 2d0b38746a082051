"""Checks processes: children that a killed daemon left behind, other daemons, and other Codex
processes that have threads open.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from trimpoint.codex.appserver.orphans import recorded_children
from trimpoint.core.model.decision import counted
from trimpoint.doctor import kernel
from trimpoint.doctor.findings import Finding, Installation, ok, warn
from trimpoint.doctor.paths import daemon_pid

WAY_OUT = "If it is Codex's own shared daemon: trimpoint codex app-server daemon stop"


def check_orphans(installation: Installation) -> Iterator[Finding]:
    """Yields the recorded Codex processes that are running, and whether a daemon owns them."""
    recorded = recorded_children(installation.state_dir)
    running = [record.pid for record, is_running in recorded if is_running]
    facts = {"running": running, "records": len(recorded)}
    if daemon_pid(installation) is not None or not recorded:
        text = (
            f"none; the daemon's own Codex is pid {', '.join(map(str, running))}"
            if running
            else "none"
        )
        yield ok(text, **facts)
    elif running:
        pids = ", ".join(map(str, running))
        yield warn(
            "Codex without its daemon",
            f"Codex runs on without its daemon (pid {pids})",
            f"The next daemon ends it; or: kill {pids}",
            **facts,
        )
    else:
        yield ok("records of children that have ended; the next daemon removes them", **facts)


def check_other_daemons(installation: Installation) -> Iterator[Finding]:
    """Yields other daemons of trimpoint, and other Codex processes that have threads open."""
    own = daemon_pid(installation)
    others = [found for found in kernel.own_processes() if found.pid != own and _is_daemon(found)]
    for other in others:
        yield ok(
            f"another trimpoint runs, on a state directory of its own (pid {other.pid})",
            pid=other.pid,
        )
    ours = {
        record.pid for record, is_running in recorded_children(installation.state_dir) if is_running
    }
    holders = {
        pid: threads
        for pid, threads in thread_writers(installation.codex_home).items()
        if pid not in ours
    }
    for pid, threads in holders.items():
        yield _holder(pid, threads)
    if not others and not holders:
        yield ok("none")


def _is_daemon(found: kernel.Process) -> bool:
    """Returns whether the process is a Python that runs trimpoint's daemon, as a script or a
    module.
    """
    words = [Path(word).name for word in found.words[:5]]
    return any(
        word == "trimpoint" and "serve" in words[position + 1 : position + 2]
        for position, word in enumerate(words)
    )


def thread_writers(codex_home: Path) -> dict[int, list[str]]:
    """Returns the Codex threads that each process has open for writing, by process id (measured:
    0.163 locks a file for each thread).
    """
    found: dict[int, list[str]] = defaultdict(list)
    for path in sorted((codex_home / "thread-writer-locks").glob("[!.]*.lock")):
        for pid in kernel.lock_holders(path):
            found[pid].append(path.stem)
    return found


def named(pid: int) -> str:
    """Returns a description of a process for people."""
    found = kernel.process(pid)
    return (
        f"{found.label}, pid {pid}"
        if found is not None
        else "a process that cannot be seen from here"
    )


def _holder(pid: int, threads: list[str]) -> Finding:
    what = counted(len(threads), "thread")
    hint = f"They cannot be resumed through trimpoint until it ends. {WAY_OUT}"
    return warn(
        "threads held by another Codex",
        f"another Codex ({named(pid)}) holds {what}",
        hint,
        pid=pid,
        threads=threads,
    )
