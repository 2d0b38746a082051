"""The content of the context, its size, searches in the history, and turns that do not fit."""
