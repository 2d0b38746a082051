"""Metrics as Prometheus' text, through its official client: the only module that imports it, and
only when it is asked.

Nothing is registered with the client's own global registry, and its own figures of the process are
not used.
"""

from collections.abc import Iterator

from trimpoint_protocol.methods import MetricFamily

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(families: list[MetricFamily]) -> str:
    """Yields the families in the text format, version 0.0.4."""
    # Imported late: it costs half a megabyte and 15 ms.
    from prometheus_client.exposition import generate_latest
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector, CollectorRegistry

    class OnlyThese(Collector):
        def collect(self) -> Iterator[Metric]:
            for family in families:
                metric = Metric(family.name, family.help, family.kind)
                for sample in family.samples:
                    metric.add_sample(sample.name, sample.labels, sample.value)
                yield metric

    registry = CollectorRegistry(auto_describe=False)
    registry.register(OnlyThese())
    return generate_latest(registry).decode()
