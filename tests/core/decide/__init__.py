"""Commands: the events that accept them, or why they are refused."""
