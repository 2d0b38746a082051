"""What differs between operating systems, behind one port (`port`): `linux`, and `posix` for every
other one. `SYSTEM` is the one that runs here.

Nothing else in the package asks for an optional call of the system that is in the port.
`TRIMPOINT_PLATFORM=posix` takes the plain one on Linux too, for tests.
"""

import os
import sys

from trimpoint.system.linux import Linux
from trimpoint.system.port import System
from trimpoint.system.posix import Posix

__all__ = ["SYSTEM", "System"]


def _here() -> System:
    name = os.environ.get("TRIMPOINT_PLATFORM") or sys.platform
    return Linux() if name == "linux" else Posix()


SYSTEM = _here()
