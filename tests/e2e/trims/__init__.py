"""Trims and their undoing, and what a thread keeps across them."""
