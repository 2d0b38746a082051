"""Finds the session that the command line names."""

import os

from trimpoint_protocol.unified import Agent

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.known_threads import KnownThread, matching, own_threads
from trimpoint.cli.exits import UsageError
from trimpoint.sessionlogs.catalogue import Ambiguous, session_named
from trimpoint.sessionlogs.homes import homes_in
from trimpoint.sessionlogs.sessions import FoundSession


def chosen_session(wanted: str, agent: Agent | None) -> FoundSession:
    """Returns the session that `wanted` names by its id or a part of it.

    :raises UsageError: when no session or more than one matches.
    """
    if agent == "trimpoint":
        problem = f"There is no thread {wanted!r} of trimpoint's."
        raise UsageError(problem, "trimpoint sessions --agent trimpoint lists them.")
    try:
        return session_named(homes_in(os.environ), wanted, agent)
    except Ambiguous as error:
        hint = "Give more of the id, or --agent." if error.ids else "trimpoint sessions lists them."
        raise UsageError(str(error), hint) from None


async def own_thread(client: Client, wanted: str) -> KnownThread:
    """Returns the daemon's thread that `wanted` names.

    :raises UsageError: when no thread or more than one matches.
    """
    found = matching(await own_threads(client), wanted)
    if len(found) == 1:
        return found[0]
    if not found:
        problem = f"There is no thread {wanted!r} of trimpoint's."
        raise UsageError(problem, "trimpoint sessions --agent trimpoint lists them.")
    raise UsageError(f"{wanted!r} names {len(found)} threads.", "Give more of the id.")
