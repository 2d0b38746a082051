"""`trimpoint sessions`: `listing`, `export` and what they share, `chosen`.

Sessions of other agents are read in this process: a log can be larger than any answer of the daemon
may be, and reading one needs no daemon.
"""
