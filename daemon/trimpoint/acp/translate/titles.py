"""Titles of sessions. They cost nothing: no model is asked for one."""

from datetime import UTC, datetime

from trimpoint.acp.json_access import Json, as_text

MAX_CHARS = 80


def title_of(name: str | None, first_prompt: str) -> str | None:
    """Returns the thread's name, else the first line of its first prompt."""
    line = next((one.strip() for one in first_prompt.splitlines() if one.strip()), "")
    title = (name or "").strip() or line
    return (title if len(title) <= MAX_CHARS else f"{title[: MAX_CHARS - 1]}…") or None


def title_of_row(row: Json) -> str | None:
    """Returns the title of a row of `thread/list`."""
    return title_of(as_text(row.get("name")) or None, as_text(row.get("preview")))


def iso_time(seconds: object) -> str | None:
    """Returns a time of Codex, in seconds since 1970, as ISO 8601."""
    if not isinstance(seconds, int | float):
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
