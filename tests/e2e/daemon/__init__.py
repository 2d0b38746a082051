"""The daemon itself: killed at any instant, crowded, short of memory, and what it logs and counts."""
