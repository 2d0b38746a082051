"""`trimpoint sessions`: a module for each action, and `chosen`, which finds the session that is
named.

Sessions of other agents are read in this process and not by the daemon: a log can be larger than an
answer of the daemon may be, and reading it needs no daemon.
"""
