"""Metrics of the daemon: `metrics` collects them, `exposition` writes them in Prometheus'
format.
"""
