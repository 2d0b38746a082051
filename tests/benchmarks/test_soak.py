"""The soak distinguishes flat series from growing ones, and its rounds contain every promised
action.
"""

from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest

from benchmarks.soak.__main__ import soaked
from benchmarks.soak.life import Life
from benchmarks.soak.samples import Sample, judged, slope
from benchmarks.stage import Bench

FLAT = Sample(
    turns=0,
    rss_mib=45.0,
    open_files=17,
    request_ms=0.3,
    turn_ms=30.0,
    clear_ms=50.0,
    threads_loaded=4,
    codex_rss_mib=150.0,
)


def missed(samples: list[Sample]) -> list[str]:
    return [verdict.what for verdict in judged(samples) if not verdict.is_met]


def series(**growth: float) -> list[Sample]:
    """Returns a hundred samples, 25 turns apart, whose values grow by `growth` in total."""
    return [
        FLAT._replace(
            turns=n * 25,
            **{name: getattr(FLAT, name) + total * n / 100 for name, total in growth.items()},
        )  # type: ignore[arg-type]
        for n in range(100)
    ]


def test_a_constant_series_is_flat() -> None:
    assert missed(series()) == []


@pytest.mark.parametrize(
    ("name", "total", "what"),
    [
        ("rss_mib", 10, "growth of memory"),
        ("open_files", 5, "open files"),
        ("threads_loaded", 20, "threads in memory"),
        ("request_ms", 0.5, "a request"),
        ("turn_ms", 60, "a turn"),
        ("clear_ms", 100, "/clear"),
    ],
)
def test_a_growing_series_is_not_flat(name: str, total: float, what: str) -> None:
    assert missed(series(**{name: total})) == [what]


def test_a_series_that_falls_during_the_warm_up_is_flat() -> None:
    samples = series()
    cold = [
        sample._replace(rss_mib=20.0 + n, turn_ms=300.0) for n, sample in enumerate(samples[:20])
    ]
    assert missed([*cold, *samples[20:]]) == []


def test_a_few_samples_that_are_off_do_not_bend_the_slope() -> None:
    points = [(float(n), 2.0 * n) for n in range(50)]
    points[10], points[40] = (10.0, 900.0), (40.0, -900.0)
    assert slope(points) == pytest.approx(2.0)
    assert slope([(1.0, 5.0)]) == 0.0


@pytest.mark.codex
async def test_a_short_life_has_everything_in_it_and_leaves_no_file_open(tmp_path: Path) -> None:
    lives: list[Life] = []

    def more(life: Life) -> bool:
        lives[:] = [life]
        return life.lived["rounds"] < 4

    outcome = await anyio.to_thread.run_sync(partial(soaked, Bench(tmp_path, quick=True), more))
    lived = lives[0].lived
    assert (
        lived["turns"],
        lived["/clear"],
        lived["/compact"],
        lived["/new"],
        lived["deaths of Codex"],
    ) == (38, 8, 4, 1, 1)
    assert lived["clients"] == 8
    assert len(lives[0].samples) == 2
    [files] = [verdict for verdict in outcome.verdicts if verdict.what == "open files"]
    assert files.is_met, files
