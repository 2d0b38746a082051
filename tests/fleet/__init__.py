"""The fleet, with real NATS servers."""
