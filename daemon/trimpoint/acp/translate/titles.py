"""Titles of sessions, made without asking a model."""

from datetime import UTC, datetime

from trimpoint_protocol.hidden_characters import visible

from trimpoint.acp.json_access import Json, as_text

MAX_CHARS = 80


def title_of(name: str | None, first_prompt: str) -> str | None:
    """Returns the thread's name, or the first line of its first prompt; None if both are empty."""
    line = next((one.strip() for one in first_prompt.splitlines() if one.strip()), "")
    title = visible((name or "").strip() or line)
    return (title if len(title) <= MAX_CHARS else f"{title[: MAX_CHARS - 1]}…") or None


def title_of_row(row: Json) -> str | None:
    """Returns the title for a row of `thread/list`."""
    return title_of(as_text(row.get("name")) or None, as_text(row.get("preview")))


def iso_time(seconds: object) -> str | None:
    """Converts a time of Codex, in seconds since 1970, to ISO 8601; None if it is no number."""
    if not isinstance(seconds, int | float):
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
