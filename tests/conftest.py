"""For all tests: signals are as in a terminal, however the tests were started.

A shell starts background jobs with SIGINT ignored, `nohup` ignores SIGHUP, and both are inherited by every process that a test
starts, where Ctrl-C would then do nothing.
"""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
