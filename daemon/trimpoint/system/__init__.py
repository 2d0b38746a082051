"""What differs between operating systems, behind one port (`port`): `linux`, `darwin` (macOS), and
`posix` for every other one. `SYSTEM` is the one that runs here.

Nothing else in the package asks which system runs, or for what only some have; `scripts/check`
proves it. `TRIMPOINT_PLATFORM=posix` takes the plain one on Linux too, for tests.
"""

import os
import sys

from trimpoint.system.port import System
from trimpoint.system.posix import Posix

__all__ = ["SYSTEM", "System"]


def _here() -> System:
    # Anything else would take away, without a word, what tells agents from people.
    name = "posix" if os.environ.get("TRIMPOINT_PLATFORM") == "posix" else sys.platform
    if name == "linux":
        from trimpoint.system.linux import Linux

        return Linux()
    if name == "darwin":
        from trimpoint.system.darwin import Darwin

        return Darwin()
    return Posix()


SYSTEM = _here()
