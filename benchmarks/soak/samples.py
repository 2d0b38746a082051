"""The quantities that the soak samples, and their limits."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.measures import Bar, Figure, Verdict, at_most


class Sample(NamedTuple):
    """A sample taken between two rounds. `open_files` excludes the file of each thread in memory;
    times are medians since the previous sample.
    """

    turns: int
    rss_mib: float
    open_files: int
    request_ms: float
    turn_ms: float
    clear_ms: float
    threads_loaded: int
    codex_rss_mib: float


class Limit(NamedTuple):
    """The permitted difference between the first and the last third of a series, without the
    warm-up. `is_ratio`: as a multiple of the first.
    """

    what: str
    series: str
    bar: Bar
    is_ratio: bool


# The daemon's books: a line of the catalogue and a few index entries for each thread and provider
# thread that there ever was.
BOOKS_MIB_PER_1000_TURNS = 1.5
# Garbage in cycles that Python has not collected yet: it waits until that is a quarter of all there
# is (measured: 14,000 blocks after 600 turns, before the first full collection).
UNCOLLECTED_MIB = 3.0
LIMITS = (
    Limit("open files", "open_files", at_most(1, "more"), is_ratio=False),
    Limit("threads in memory", "threads_loaded", at_most(5, "more"), is_ratio=False),
    Limit("a request", "request_ms", at_most(1.5, "×"), is_ratio=True),
    Limit("a turn", "turn_ms", at_most(1.5, "×"), is_ratio=True),
    Limit("/clear", "clear_ms", at_most(1.5, "×"), is_ratio=True),
)
_WARM_UP = 0.2


def judged(samples: Sequence[Sample]) -> list[Verdict]:
    """Judges memory by its slope, and everything else by the last third compared with the first."""
    settled = samples[int(len(samples) * _WARM_UP) :]
    return [_memory(settled), *(_held(settled, limit) for limit in LIMITS)]


def figures(samples: Sequence[Sample]) -> list[Figure]:
    """Returns every series."""
    return [
        Figure("memory of the daemon", "MiB", [sample.rss_mib for sample in samples]),
        Figure("memory of Codex", "MiB", [sample.codex_rss_mib for sample in samples]),
        Figure("open files", "", [sample.open_files for sample in samples]),
        Figure("threads in memory", "", [sample.threads_loaded for sample in samples]),
        Figure("a request", "ms", [sample.request_ms for sample in samples]),
        Figure("a turn", "ms", [sample.turn_ms for sample in samples]),
        Figure("/clear", "ms", [sample.clear_ms for sample in samples]),
    ]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Returns the median of the slopes between all pairs of points (Theil-Sen), which outliers
    hardly change.
    """
    slopes = [
        (y2 - y1) / (x2 - x1)
        for n, (x1, y1) in enumerate(points)
        for x2, y2 in points[n + 1 :]
        if x2 != x1
    ]
    return median(slopes) if slopes else 0.0


def _memory(samples: Sequence[Sample]) -> Verdict:
    turns = samples[-1].turns - samples[0].turns
    grown_mib = slope([(sample.turns, sample.rss_mib) for sample in samples]) * turns
    allowed_mib = round(UNCOLLECTED_MIB + BOOKS_MIB_PER_1000_TURNS * turns / 1000, 1)
    why = f"slope of the resident set over {turns:,} turns, warm-up left out"
    return Verdict("growth of memory", grown_mib, at_most(allowed_mib, "MiB"), why)


def _held(samples: Sequence[Sample], limit: Limit) -> Verdict:
    third = max(1, len(samples) // 3)
    first, last = (
        median(float(getattr(sample, limit.series)) for sample in part)
        for part in (samples[:third], samples[-third:])
    )
    value = last / first if limit.is_ratio else last - first
    return Verdict(
        limit.what, value, limit.bar, "medians, last third against the first, warm-up left out"
    )
