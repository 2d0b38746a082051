"""The context meter in the terminal: a bar with a mark where Codex would compact by itself, and
readable numbers.
"""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text
from trimpoint_protocol.readmodel import AutoCompaction, ContextStatus

from trimpoint.cli.terminal import one_line
from trimpoint.core.context.context_size import percent_text
from trimpoint.core.decide.auto_compaction import ADVICE
from trimpoint.core.model.spelling import Spelling, hint_text
from trimpoint.core.model.tokens import short_count

_COLOURS = {"ok": "green", "warning": "yellow", "critical": "red"}
FILLED, EMPTY, MARK = "█", "░", "┃"
BAR_CELLS, SMALL_BAR_CELLS = 40, 10
_LABEL_CELLS = 14  # "Automatic", what is between it and the value, and a blank at the edge
_AUTOMATIC = {
    "off": "off: trimpoint neither warns nor trims",
    "warn": "you are warned when it fills up",
    "mask": "old output is masked when it fills up",
    "compact": "it is compacted when it is critical",
}


def context_bar(context: ContextStatus, cells: int) -> Text:
    """Returns the bar of the meter with a mark where Codex would compact by itself; empty while the
    window size is unknown.
    """
    window = context.window_tokens
    if window is None:
        return Text()
    filled = min(cells, round(context.used_tokens * cells / window))
    mark = min(cells - 1, (context.provider_compacts_at_tokens or window) * cells // window)
    colour = _COLOURS.get(context.level or "", "default")
    bar = Text(FILLED * filled, colour).append(EMPTY * (cells - filled), "dim")
    marked = Text(MARK, f"{colour} reverse" if mark < filled else "dim")
    return Text.assemble(bar[:mark], marked, bar[mark + 1 :])


def context_line(context: ContextStatus, cells: int = BAR_CELLS) -> Text:
    """Returns the bar, the used tokens and the window on one line."""
    line = context_bar(context, cells)
    return line.append(" " if line else "").append(_numbers(context))


def _numbers(context: ContextStatus) -> Text:
    line = _share(context)
    if context.level in ("warning", "critical"):
        line.append(
            f" {context.level}", _COLOURS[context.level]
        )  # in words too: not everybody sees colours, and no pipe does
    return line.append(f"  {_used(context)}", "dim")


def meter(context: ContextStatus, cells: int = 20) -> Iterator[Text]:
    """Yields the bar, and advice below it when the context is nearly full."""
    yield Text("  ").append_text(context_line(context, cells))
    if context.level in ("warning", "critical"):
        advice = automatic_text(context.auto) or hint_text(ADVICE, Spelling.SHELL)
        yield Text(f"  {one_line(advice, 2000)}", _COLOURS[context.level])


def automatic_text(auto: AutoCompaction | None) -> str:
    """Returns what the daemon says about automatic compaction; empty if it says nothing."""
    if auto is None:
        return ""
    words = filter(None, (auto.said, hint_text(auto.hints, Spelling.SHELL)))
    return " ".join(words) or auto.message


def small_context(context: ContextStatus | None, *, bar: bool = True) -> Text:
    """Returns a short bar with its percentage for a table row; empty while nothing is known."""
    if context is None or (context.unknown and not context.used_tokens):
        return Text()
    drawn = context_bar(context, SMALL_BAR_CELLS) if bar else Text()
    return drawn.append(" " if drawn else "").append(_share(context))


def context_table(context: ContextStatus, width: int) -> Table:
    """Returns everything that is known about a context as a table of `width` columns, one kind of
    fact per line.

    The bar is shortened so that its numbers fit on the same line.
    """
    beside = _numbers(context).cell_len + _LABEL_CELLS
    table = Table.grid(padding=(0, 2))
    for name, value in _rows(context, max(SMALL_BAR_CELLS, min(BAR_CELLS, width - beside))):
        table.add_row(Text(name, "bold"), value)
    return table


def _rows(context: ContextStatus, cells: int) -> Iterator[tuple[str, Text]]:
    yield "Context", context_line(context, cells)
    if context.provider_compacts_at_tokens is not None:
        at = short_count(context.provider_compacts_at_tokens)
        yield "", Text(f"Codex itself would compact at {at} ({MARK})", "dim")
    elif context.window_tokens is None:
        yield "", Text(_window_unknown(context), "dim")
    if context.note is not None:
        yield "", Text(one_line(context.note, 300), "dim")
    yield from _calls(context)
    if context.cached_percent is not None:
        share = percent_text(context.cached_percent)
        yield "", Text(f"{share} of what the last call read came from the provider's cache", "dim")
    if times := _compacted(context):
        yield "", Text(times)
    yield from _automatic(context)


def _window_unknown(context: ContextStatus) -> str:
    if context.unknown:
        return "Codex says how large the window is with its first answer."
    model = one_line(context.model or "the model", 60)
    return (
        f"Codex does not say how large the window of {model} is. Say it in the configuration: "
        f'max_context_tokens in [models."{model}"].'
    )


def _calls(context: ContextStatus) -> Iterator[tuple[str, Text]]:
    """Yields the row with the token totals of all model calls; each call sends the whole context
    again.
    """
    if not context.total_tokens:
        yield "Calls", Text("none counted yet", "dim")
        return
    total = _sum(
        context.total_input_tokens,
        context.total_cached_input_tokens,
        context.total_output_tokens,
    )
    yield "Calls", Text(f"{total}: all calls together, each with the whole context")
    if context.current_total_tokens != context.total_tokens:
        current = _sum(
            context.current_input_tokens,
            context.current_cached_input_tokens,
            context.current_output_tokens,
        )
        yield "", Text(f"{current} since the context was last trimmed", "dim")


def _automatic(context: ContextStatus) -> Iterator[tuple[str, Text]]:
    """Yields the rows about automatic compaction: its mode, and the daemon's message about the
    context.
    """
    if context.auto is None:
        return
    stopped = context.auto.state == "stopped"
    colour = "red" if stopped else _COLOURS.get(context.level or "", "")
    said = Text(one_line(automatic_text(context.auto), 2000), colour)
    if not stopped:
        chosen = ", as chosen for this thread" if context.auto.is_chosen else ""
        yield "Automatic", Text(f"{_AUTOMATIC[context.auto.mode]}{chosen}", "dim")
    if said:
        yield "Automatic" if stopped else "", said


def _compacted(context: ContextStatus) -> str:
    own, providers = context.compaction_count, context.provider_compaction_count
    by_codex = f"compacted ×{providers} by Codex itself" if providers else ""
    return ", ".join(filter(None, (f"compacted ×{own}" if own else "", by_codex)))


def _share(context: ContextStatus) -> Text:
    about = "~" if context.estimated else ""
    if context.percent is None:
        return Text(f"{about}{short_count(context.used_tokens)}")
    return Text(f"{about}{percent_text(context.percent)}", _COLOURS.get(context.level or "", ""))


def _used(context: ContextStatus) -> str:
    if context.window_tokens is None:
        return "tokens of a window that is not known"
    return f"{short_count(context.used_tokens)} of {short_count(context.window_tokens)} tokens"


def _sum(given: int, cached: int, said: int) -> str:
    of_which = f" ({short_count(cached)} cached)" if cached else ""
    return f"{short_count(given)} in{of_which}, {short_count(said)} out"
