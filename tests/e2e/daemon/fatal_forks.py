"""Stands between the daemon and the real Codex, whose path is the first argument, and kills the
daemon when Codex has made a fork, before it is told of it.
"""

import json
import os
import signal
import subprocess
import sys
import threading


def main() -> None:
    """Passes on all lines but the answer to `thread/fork`."""
    codex, *arguments = sys.argv[1:]
    if arguments[:1] != ["app-server"]:
        os.execv(codex, [codex, *arguments])
    child = subprocess.Popen([codex, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    answers_to = set[int]()

    def pass_on() -> None:
        assert child.stdin is not None
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if message.get("method") == "thread/fork":
                answers_to.add(message["id"])
            child.stdin.write(line)
            child.stdin.flush()
        child.stdin.close()

    threading.Thread(target=pass_on, daemon=True).start()
    for line in child.stdout:
        message = json.loads(line)
        if "method" not in message and message.get("id") in answers_to:
            os.kill(os.getppid(), signal.SIGKILL)
            child.kill()
            break
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    sys.exit(child.wait())


if __name__ == "__main__":
    main()
