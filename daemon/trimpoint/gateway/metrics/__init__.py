"""Counters: `metrics` collects them, `exposition` writes them for Prometheus, `metrics_endpoint` serves them."""
