"""The content of the active context, its size, and what can be removed from it."""
