"""Says that an older daemon runs, and how it is replaced."""

import re

_NUMBERS = re.compile(r"\d+(\.\d+)*")


def upgrade_words(running: str, own: str) -> str | None:
    """Returns what to tell a person if the daemon's version `running` came before this program's;
    else None.
    """
    there, here = _NUMBERS.match(running), _NUMBERS.match(own)
    if there is None or here is None or _parts(there[0]) >= _parts(here[0]):
        return None
    return (
        f"The daemon that runs is trimpoint {running}, this agent {own}. To replace it as soon as "
        "no agent works, type in a terminal: trimpoint daemon shutdown --when-idle"
    )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
