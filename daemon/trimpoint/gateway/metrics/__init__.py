"""Counters: `metrics` collects them, `exposition` writes them for Prometheus."""
