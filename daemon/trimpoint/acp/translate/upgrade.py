"""Says that an older daemon runs, and how it is replaced."""

from trimpoint.versions import number_of


def upgrade_words(running: str, own: str) -> str | None:
    """Returns what to tell a person if the daemon's version `running` came before this program's;
    else None.
    """
    there, here = number_of(running), number_of(own)
    if not there or not here or there >= here:
        return None
    return (
        f"The daemon that runs is trimpoint {running}, this agent {own}. To replace it as soon as "
        "no agent works, type in a terminal: trimpoint daemon shutdown --when-idle"
    )
