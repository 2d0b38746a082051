"""Trims and undos, and the properties that a thread keeps across them."""
