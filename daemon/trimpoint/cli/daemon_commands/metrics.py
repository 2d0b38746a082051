"""`trimpoint daemon metrics`: shows the metrics of the daemon."""

import argparse
from collections.abc import Iterator
from functools import partial

from rich.table import Table
from rich.text import Text
from trimpoint_protocol.methods import MetricFamily, MetricsResult

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import print_json, stdout_console


def run(arguments: argparse.Namespace) -> int:
    """Shows the metrics once."""
    return with_daemon(arguments, partial(_show, arguments), starts=False)


async def _show(arguments: argparse.Namespace, client: Client) -> int:
    if arguments.json:
        print_json(await client.request("sidecar/metrics"))
    elif arguments.prometheus:
        result = await ask(client, MetricsResult, "sidecar/metrics", format="prometheus")
        print(result.text, end="", flush=True)
    else:
        stdout_console().print(
            _table((await ask(client, MetricsResult, "sidecar/metrics")).families)
        )
    return Exit.DONE


def _table(families: list[MetricFamily]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for family in families:
        rows = (
            _averages(family)
            if family.kind == "histogram"
            else ((s.value, family.help, s.labels) for s in family.samples)
        )
        for value, description, labels in rows:
            if family.name.endswith("_up"):
                table.add_row("yes" if value else "no", _fact(description))
                continue
            told = (
                f"  {', '.join(f'{name} {label}' for name, label in labels.items())}"
                if labels
                else ""
            )
            table.add_row(_readable(value), Text.assemble(description, (told, "cyan")))
    return table


def _fact(description: str) -> str:
    """Turns the description of a yes-or-no metric into a statement: "Whether Codex is connected."
    becomes "Codex is connected."
    """
    said = description.removeprefix("Whether ")
    return said[:1].upper() + said[1:]


def _averages(family: MetricFamily) -> Iterator[tuple[float, str, dict[str, str]]]:
    """Yields the average of each histogram with its description and labels; the buckets are left
    out.
    """
    sums = [sample for sample in family.samples if sample.name.endswith("_sum")]
    counts = [sample for sample in family.samples if sample.name.endswith("_count")]
    for total, count in zip(sums, counts, strict=True):
        yield (
            total.value / count.value,
            f"{family.help.rstrip('.')}: seconds, the average of {count.value:.0f}.",
            total.labels,
        )


def _readable(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3f}"
