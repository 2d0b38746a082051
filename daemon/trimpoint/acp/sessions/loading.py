"""Sends the whole history of a session that an editor loads, including what was pruned."""

from trimpoint.acp.connection.daemon import DaemonLink
from trimpoint.acp.connection.editor import Editor
from trimpoint.acp.json_access import Json, as_objects, as_text
from trimpoint.acp.translate.history import NEW_THREAD, divider, replayed

PAGE = 500


async def replay(link: DaemonLink, editor: Editor, session_id: str, thread_ids: list[str]) -> None:
    """Sends the history of a session's threads, the oldest first, with a divider between two
    threads.

    :raises RpcError: when the history cannot be read.
    """
    for place, thread_id in enumerate(thread_ids):
        if place:
            editor.update(session_id, *divider(editor.capabilities, thread_id, NEW_THREAD, None))
        editor.update(session_id, *replayed(await _entries(link, thread_id), editor.capabilities))


async def _entries(link: DaemonLink, thread_id: str) -> list[Json]:
    pages: list[list[Json]] = []
    cursor: str | None = None
    while True:
        page = await link.request(
            "timeline/read", threadId=thread_id, expand="all", limit=PAGE, cursor=cursor
        )
        pages.append(as_objects(page.get("entries")))
        cursor = as_text(page.get("nextCursor")) or None
        if cursor is None:
            return [entry for entries in reversed(pages) for entry in entries]
