"""Events, operations, slash commands and other parts of a thread's model."""
