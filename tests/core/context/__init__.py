"""What the active context holds, its size, and what can be taken out of it."""
