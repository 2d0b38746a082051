"""The single writer of each thread, the registry of threads, and what is told to those who listen."""
