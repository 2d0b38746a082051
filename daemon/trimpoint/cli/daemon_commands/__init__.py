"""One module for each command that starts, checks or serves the daemon, or needs none."""
