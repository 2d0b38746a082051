"""The program `trimpoint`, which is `python -m trimpoint` too.

Ctrl-C ends it as the system ends other programs, quietly, while the command line is imported.
"""

import signal
import sys

from trimpoint import first_frame


def main() -> int:
    """Runs the command line of this process, and returns its exit code."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # else it is ignored, as in the jobs of a script
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    first_frame.show(sys.argv[1:])
    try:
        from trimpoint.cli.main import main as run

        signal.signal(signal.SIGINT, handler)
        return run()
    finally:
        first_frame.end()


if __name__ == "__main__":
    sys.exit(main())
