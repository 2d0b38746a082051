"""One module for each command that checks, configures or stops the daemon, or that works without
one.
"""
