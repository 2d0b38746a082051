"""Programs that benchmarks run as processes of their own."""
