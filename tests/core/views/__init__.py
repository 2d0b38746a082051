"""Views of a thread: timeline, history, exports, and the read model."""
