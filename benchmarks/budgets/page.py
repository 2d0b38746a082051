"""The web page in a real Chromium: time until it is shown, memory, and the rate of deltas that it
can draw.

Needs what `tests/web` needs: Chromium, playwright, and the built page.
"""

import gzip
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
from trimpoint.http.static_files import default_folder
from trimpoint.threads.ids import new_uuid7

from benchmarks.daemons import Daemon, daemon
from benchmarks.measures import Figure, Outcome, Verdict, at_least, at_most
from benchmarks.programs import flooding_codex
from benchmarks.stage import Bench
from benchmarks.threads import Grown, grow

_KIB, _MIB = 1024, 1024 * 1024
_DEADLINE_MS = 120_000
_SCROLLS = 40
_SHORT = 200
_SLOW_LINK = {
    "offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000,
}  # fmt: skip
_MAIN_THREAD = "processor time"
# Scrolls to the top again and again, and notes how long each frame took.
_SCROLL = """async (steps) => {
    const list = document.querySelector(".list");
    const frames = [];
    let last = performance.now();
    for (let step = 0; step < steps * 30; step += 1) {
        list.scrollTop -= 120;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        frames.push(now - last);
        last = now;
    }
    return frames;
}"""
_FRAMES = """() => {
    window.frames_ = [];
    let last = performance.now();
    const tick = (now) => {
        window.frames_.push(now - last);
        last = now;
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
}"""
# The turns may be in the document before the frame that shows them.
_PAINT = """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime"""


def run_open(stage: Bench) -> Outcome:
    """Opens a thread of many turns in a browser that has not loaded the page before."""
    turns = stage.sized(100_000, 10_000)
    room, thread_id = stage.room("page"), new_uuid7()
    anyio.run(grow, room / "state", [Grown(thread_id, "/work", "/rollout", turns)])
    paints: list[float] = []
    shown: list[float] = []
    sent: list[float] = []
    heaps: list[float] = []
    frames: list[float] = []
    worked: list[float] = []
    with daemon(room, flooding_codex.launcher(room)) as running:
        for number in range(stage.sized(3, 1) + 1):
            with _page(running) as page:
                sizes: list[int] = []
                page.on("websocket", partial(_count, sizes))
                began = time.perf_counter()
                page.goto(f"{_login(running)}/thread/{thread_id}")
                page.locator(".turn .answer").last.wait_for()
                shown_ms = (time.perf_counter() - began) * 1000
                if number == 0:
                    continue  # the daemon reads the thread from the disk
                shown.append(shown_ms)
                paints.append(page.wait_for_function(_PAINT).json_value())
                sent.append(sum(sizes) / _KIB)
                clock = _clocked(page)
                before_ms = _main_thread_ms(clock)
                frames += (scrolled := page.evaluate(_SCROLL, _SCROLLS))
                worked.append((_main_thread_ms(clock) - before_ms) / len(scrolled))
                heaps.append(_heap_mib(page))
    frames.sort()
    figures = [
        Figure("first paint", "ms", paints),
        Figure(f"the end of {turns:,} turns shown", "ms", shown),
        Figure("sent for it", "KiB", sent),
        Figure("a frame while scrolling, 95th percentile", "ms", [frames[len(frames) * 95 // 100]]),
        Figure("processor time of the main thread for it, mean", "ms", worked),
        Figure("JavaScript heap after scrolling", "MiB", heaps),
    ]
    why = "in Chromium, medians"
    return Outcome(
        [
            Verdict("first paint of the page", figures[0].median, at_most(1000, "ms"), why),
            Verdict("a long thread opened", figures[2].median, at_most(1024, "KiB"), "bytes"),
            Verdict("frames of a long thread", figures[3].median, at_most(34, "ms"), why),
            Verdict("work for such a frame", figures[4].median, at_most(16, "ms"), _MAIN_THREAD),
            Verdict("memory of the page", figures[5].most, at_most(60, "MiB"), "the most"),
            Verdict("the page, packed", _packed_kib(), at_most(97, "KiB"), "gzip"),
        ],
        figures,
    )


def run_stream(stage: Bench) -> Outcome:
    """Streams an answer as fast as the daemon can relay it."""
    deltas = stage.sized(100_000, 20_000)
    room = stage.room("page-stream")
    with daemon(room, flooding_codex.launcher(room)) as running, running.client() as client:
        thread_id = client.start_thread(room)["id"]
        with _page(running) as page:
            page.goto(f"{_login(running)}/thread/{thread_id}")
            box = page.locator("textarea")
            box.wait_for()
            page.evaluate(_FRAMES)
            clock = _clocked(page)
            before_ms = _main_thread_ms(clock)
            box.fill(f"{deltas} shown")
            began = time.perf_counter()
            box.press("Enter")
            page.locator(".turn").wait_for()
            page.get_by_label("Interrupt").wait_for(state="detached")
            taken_s = time.perf_counter() - began
            worked_us = (_main_thread_ms(clock) - before_ms) * 1000 / deltas
            frames = sorted(page.evaluate("window.frames_"))
            heap = _heap_mib(page)
    rate = Figure("deltas shown", "1/s", [deltas / taken_s])
    worked = Figure("processor time of the main thread for a delta", "µs", [worked_us])
    slowest = Figure("the longest frame", "ms", [frames[-1]])
    return Outcome(
        [
            Verdict("a stream into the page", rate.median, at_least(10_000, "1/s"), "wall clock"),
            Verdict("work for a delta", worked.median, at_most(100, "µs"), _MAIN_THREAD),
            Verdict("memory after the stream", heap, at_most(60, "MiB"), "JavaScript heap"),
        ],
        [rate, worked, slowest],
    )


def run_slow(stage: Bench) -> Outcome:
    """Opens a thread over a slow link, in a browser that has never loaded the page, and again."""
    room, thread_id = stage.room("page-slow"), new_uuid7()
    anyio.run(grow, room / "state", [Grown(thread_id, "/work", "/rollout", _SHORT)])
    firsts: list[float] = []
    reloads: list[float] = []
    with daemon(room, flooding_codex.launcher(room)) as running:
        for _ in range(stage.sized(3, 1)):
            with _page(running) as page:
                page.goto(_login(running))
                page.locator("nav").wait_for()
                address = f"{page.url.partition('#')[0]}#/thread/{thread_id}"
                session = page.context.new_cdp_session(page)
                session.send("Network.enable")
                session.send("Network.emulateNetworkConditions", _SLOW_LINK)
                session.send("Network.clearBrowserCache")
                for taken_ms in (firsts, reloads):
                    page.goto("about:blank")
                    began = time.perf_counter()
                    page.goto(address, wait_until="commit")
                    page.locator(".turn .answer").last.wait_for()
                    taken_ms.append((time.perf_counter() - began) * 1000)
    first = Figure("a thread shown, nothing in the browser's cache", "ms", firsts)
    again = Figure("shown again", "ms", reloads)
    link = "at 400 ms and 400 kbit/s, median"
    return Outcome(
        [
            Verdict("a first thread over a slow link", first.median, at_most(3000, "ms"), link),
            Verdict("the next one", again.median, at_most(2000, "ms"), link),
        ],
        [first, again],
    )


def _count(sizes: list[int], socket: Any) -> None:
    def note(frame: str | bytes) -> None:
        sizes.append(len(frame))

    socket.on("framereceived", note)


@contextmanager
def _page(running: Daemon) -> Generator[Any]:
    from playwright.sync_api import sync_playwright

    del running
    binary = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(_DEADLINE_MS)
        yield context.new_page()
        browser.close()


def _login(running: Daemon) -> str:
    with running.client() as client:
        return str(client.request("sidecar/loginUrl", listen=True)["url"])


def _clocked(page: Any) -> Any:
    """Returns a session of the developer tools that measures the page from now on."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def _main_thread_ms(session: Any) -> float:
    """Returns the processor time that the page's main thread has used so far, in milliseconds.
    Other work on the machine delays frames, but hardly changes this time.
    """
    named = session.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in named if one["name"] == "TaskDuration") * 1000


def _heap_mib(page: Any) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / _MIB


def _packed_kib() -> float:
    files = [path for path in default_folder().iterdir() if path.suffix in (".js", ".css", ".html")]
    return sum(len(gzip.compress(path.read_bytes(), mtime=0)) for path in files) / _KIB
