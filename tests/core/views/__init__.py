"""What is shown of a thread: timeline, history, exports, the read model."""
