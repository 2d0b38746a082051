"""Shows what the sessions on this machine take under each policy: a table, and a picture."""

from collections.abc import Iterator
from itertools import accumulate

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from trimpoint.core.context.context_size import percent_text
from trimpoint.core.model.decision import counted
from trimpoint.core.model.tokens import short_count
from trimpoint.sessionlogs.replay.policies import ASSUMPTIONS, Sums
from trimpoint.sessionlogs.replay.report import ALL, LONG, Group, Report

_ROW, _BAR, _LEFT, _WIDTH = 44, 18, 160, 720
_STYLE = """
text { font: 13px sans-serif; fill: #1f2328; } .u { fill: #cf6a32; } .c { fill: #e8b796; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .c { fill: #7d4a2b; } }"""


def what_if_view(report: Report) -> RenderableType:
    """Returns a table of all sessions, and of the long ones, with the assumptions below."""
    rows: list[RenderableType] = []
    for name in (ALL, LONG):
        group = report.groups.get(name)
        if group is not None and group.sessions and not _is_repeated(name, report):
            rows += [_heading(name, group), _table(group), Text()]
    rows += [Text(line, "dim") for line in _notes(report)]
    return Lines(*rows)


def _is_repeated(name: str, report: Report) -> bool:
    return name == LONG and report.groups[LONG].sessions == report.groups[ALL].sessions


def _heading(name: str, group: Group) -> Text:
    calls = group.policies["none"].calls
    of_what = f" of {name}" if name == LONG else ""
    return Text(
        f"{counted(group.sessions, 'session')}{of_what}, {counted(group.turns, 'turn')}, "
        f"{counted(calls, 'model call')}",
        "bold",
    )


def _table(group: Group) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("policy", no_wrap=True)
    for name in ("sent", "cached", "uncached", "price", "of none", "masks", "compacted", "fullest"):
        table.add_column(name, justify="right")
    table.add_column("asked for", justify="right")
    none = group.policies["none"]
    for name, one in group.policies.items():
        table.add_row(name, *_cells(one, none), f"{counted(one.asked_for, 'turn')}")
    return table


def _cells(one: Sums, none: Sums) -> Iterator[str]:
    yield from map(short_count, (one.sent, one.cached, one.uncached, round(one.price)))
    yield percent_text(one.price * 100 / none.price) if none.price else ""
    yield f"{one.masks:,}"
    yield f"{one.compactions:,}"
    yield percent_text(one.fullest * 100)


def _notes(report: Report) -> Iterator[str]:
    every = report.groups[ALL]
    if every.reported:
        yield (
            f"The agents have reported {short_count(every.reported)} tokens of input; the replay "
            f"of none sends {short_count(every.replayed)} in the same sessions."
        )
    if every.without_usage:
        yield f"{counted(every.without_usage, 'session')} without reported usage: only estimates."
    if report.without_calls:
        yield f"Left out: {counted(report.without_calls, 'session')} without a call of the model."
    if report.unreadable:
        count = counted(report.unreadable, "session")
        yield f"Left out: {count} that cannot be read; trimpoint sessions says why."
    if every.sessions:
        yield "The price is in uncached tokens. Assumed:"
        yield from (f"- {line}" for line in ASSUMPTIONS)


def picture(report: Report) -> str:
    """Returns the price of each policy as bars of an SVG: uncached and cached."""
    policies = report.groups[ALL].policies
    none = policies["none"]
    most = max(one.price for one in policies.values()) or 1
    scale = (_WIDTH - _LEFT - 130) / most
    places = accumulate(policies, lambda at, _: at + _ROW, initial=40)
    height = 40 + _ROW * len(policies)
    bars = "\n".join(
        _bar(name, one, none, at, scale)
        for (name, one), at in zip(policies.items(), places, strict=False)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">
<title>What {report.groups[ALL].sessions:,} sessions take, in uncached tokens</title>
<style>{_STYLE}
</style>
<text x="0" y="20">Price in uncached tokens: dark uncached, light cached</text>
{bars}
</svg>
"""


def _bar(name: str, one: Sums, none: Sums, at: int, scale: float) -> str:
    uncached = min(one.uncached, one.price) * scale
    cached = max(0.0, one.price * scale - uncached)
    share = percent_text(one.price * 100 / none.price) if none.price else ""
    right = _LEFT + uncached + cached + 8
    return (
        f'<text x="0" y="{at + 14}">{name}</text>'
        f'<rect class="u" x="{_LEFT}" y="{at}" width="{uncached:.1f}" height="{_BAR}"/>'
        f'<rect class="c" x="{_LEFT + uncached:.1f}" y="{at}" width="{cached:.1f}" '
        f'height="{_BAR}"/>'
        f'<text x="{right:.1f}" y="{at + 14}">{short_count(round(one.price))}, {share}</text>'
    )
