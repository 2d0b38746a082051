"""The fleet, against real NATS servers."""
