"""Makes ids for entries that have none in a log. They depend only on the session and the position.
Pure.
"""

import uuid


def made_id(session_id: str, place: int) -> str:
    """Returns a UUID for a position in a session."""
    try:
        space = uuid.UUID(session_id)
    except ValueError:
        space = uuid.uuid5(uuid.NAMESPACE_URL, session_id)
    return str(uuid.uuid5(space, str(place)))
