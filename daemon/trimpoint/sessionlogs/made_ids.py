"""Ids for what has none in a log: the same for the same session and place. Pure."""

import uuid


def made_id(session_id: str, place: int) -> str:
    """Returns a UUID made of a session's id and a place in it."""
    try:
        space = uuid.UUID(session_id)
    except ValueError:
        space = uuid.uuid5(uuid.NAMESPACE_URL, session_id)
    return str(uuid.uuid5(space, str(place)))
