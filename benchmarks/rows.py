"""The table of benchmarks by name."""

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.budgets import (
    acp,
    autopilot,
    chat,
    checkpoints,
    clear,
    first_paint,
    fleet,
    front,
    growth,
    journal,
    latency,
    masking,
    memory,
    page,
    real_sessions,
    recall,
    relay,
    session_logs,
    start,
    stats,
    waiting,
)
from benchmarks.measures import Outcome
from benchmarks.stage import Bench


class Row(NamedTuple):
    """A benchmark. `name` is its name on the command line, `what` its title.

    A row with `only_named` needs much disk space or time, and runs only when it is named. `needs`
    says what must be there that `scripts/bench` does not build.
    """

    name: str
    what: str
    run: Callable[[Bench], Outcome]
    only_named: bool = False
    needs: str = ""


_CHROMIUM = "Chromium (scripts/install-test-tools) and the built page (scripts/build-web)"

ROWS = (
    Row(
        "relay",
        "Relay of a delta stream to 1 client, against the official SDK's decoder",
        relay.run_one,
    ),
    Row("fan-out", "The same stream to 32 clients, against 1", relay.run_many),
    Row(
        "websocket",
        "The same stream to 1 and to 32 WebSocket clients, against lines",
        front.run_relay,
    ),
    Row("http", "GET /api/v1/threads, against JSON-RPC; the memory of HTTP", front.run_requests),
    Row("latency", "A request through the daemon, against straight to Codex", latency.run),
    Row(
        "clear",
        "/clear 3, against a bare script that asks Codex the same",
        clear.run_against_script,
    ),
    Row("long-clear", "/clear 3 on a long thread, against a short one", clear.run_on_long_thread),
    Row(
        "mask",
        "Masking 1,000 outputs, against a bare script that asks Codex the same",
        masking.run,
    ),
    Row(
        "autopilot",
        "Deciding after each turn whether old output is masked or the context compacted",
        autopilot.run,
    ),
    Row("waiting", "Another client's wait while one acts on a long thread", waiting.run),
    Row("growth", "Requests about a thread a hundred times as long", growth.run),
    Row(
        "append",
        "Journal: 64 writers with group commit, against a sync for each record",
        journal.run_append,
    ),
    Row("replay", "Journal: events replayed in a second", journal.run_replay),
    Row(
        "capture", "Checkpoint of 50,000 files with 10 changed, against git status", checkpoints.run
    ),
    Row("acp", "Start and memory of an editor's agent, with a daemon that runs", acp.run),
    Row(
        "first-paint",
        "The first screen of the terminal UI, against that of Codex's",
        first_paint.run,
    ),
    Row("chat", "The terminal UI on 100,000 turns: first paint, a key, memory", chat.run),
    Row("start", "Start and memory with many idle threads, against none", start.run),
    Row("stats", "The sums over many threads, cold and warm", stats.run),
    Row(
        "session-real",
        "Sessions of Claude Code as long work makes them, against decoding their bytes",
        real_sessions.run_real,
    ),
    Row("sessions", "A long rollout read into unified records", session_logs.run_read),
    Row(
        "session-huge",
        "A rollout of 10 GiB, with memory watched",
        session_logs.run_huge,
        only_named=True,
    ),
    Row("what-if", "Sessions replayed under each policy", session_logs.run_what_if),
    Row("session-list", "A list of many sessions, cold and warm", session_logs.run_list),
    Row("page", "The web page on a long thread, in Chromium", page.run_open, needs=_CHROMIUM),
    Row("page-slow", "The web page over a slow link", page.run_slow, needs=_CHROMIUM),
    Row("page-stream", "An answer streamed into the web page", page.run_stream, needs=_CHROMIUM),
    Row("recall", "Journals of a million entries indexed, and entries found again", recall.run),
    Row("fleet-cost", "What the mirror of a fleet costs a daemon", fleet.run_cost),
    Row("fleet-lag", "500 hosts with 10 events a second each", fleet.run_lag),
    Row("fleet-catch-up", "A million events that the hub has not", fleet.run_catch_up),
    Row("stalled", "Memory with a client that does not read", memory.run),
)
