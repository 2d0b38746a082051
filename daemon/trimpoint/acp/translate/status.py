"""Translates what an editor shows of a session: its title, the context meter, and notices."""

from datetime import UTC, datetime
from typing import Literal

from trimpoint_protocol.hidden_characters import visible
from trimpoint_protocol.lenient import Json, as_dict, as_text, words_of_error

from trimpoint.acp.wire.updates import Usage

MAX_CHARS = 80


def title_of(name: str | None, first_prompt: str) -> str | None:
    """Returns the thread's name, or the first line of its first prompt; None if both are empty."""
    line = next((one.strip() for one in first_prompt.splitlines() if one.strip()), "")
    title = visible((name or "").strip() or line)
    return shortened(title, MAX_CHARS) or None


def shortened(line: str, most_chars: int) -> str:
    """Returns at most so many characters of a line; an ellipsis stands for the rest."""
    return line if len(line) <= most_chars else f"{line[: most_chars - 1]}…"


def title_of_row(row: Json) -> str | None:
    """Returns the title for a row of `thread/list`."""
    return title_of(as_text(row.get("name")) or None, as_text(row.get("preview")))


def iso_time(seconds: object) -> str | None:
    """Converts a time of Codex, in seconds since 1970, to ISO 8601; None if it is no number."""
    if not isinstance(seconds, int | float):
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def usage_of(status: Json) -> Usage | None:
    """Returns the meter; None while the window's size is unknown."""
    used, window = status.get("usedTokens"), status.get("windowTokens")
    if not isinstance(used, int) or not isinstance(window, int) or window <= 0:
        return None
    names = ("estimated", "unknown", "level", "leftPercent", "cachedPercent")
    more = {name: status.get(name) for name in names}
    auto = as_dict(status.get("auto"))
    if auto:
        more["auto"] = {name: auto.get(name) for name in ("state", "message", "mode", "isChosen")}
    return Usage(used=used, size=window, meta={"trimpoint": more})


def meter_text(status: Json) -> str:
    """Returns the meter as a phrase, with what of the last call came from the provider's cache, and
    what is done when the context fills up.
    """
    parts = [_fullness(status)]
    cached, mode = status.get("cachedPercent"), as_dict(status.get("auto")).get("mode")
    if isinstance(cached, int | float):
        parts.append(f"{int(cached + 0.5)}% of the last call came from the provider's cache")
    if isinstance(mode, str):
        parts.append(f"automatic: {mode}")
    return "; ".join(parts)


def _fullness(status: Json) -> str:
    used, window = status.get("usedTokens"), status.get("windowTokens")
    if not isinstance(used, int):
        return "not known yet"
    about = "about " if status.get("estimated") else ""
    if not isinstance(window, int) or window <= 0:
        return f"{about}{used:,} tokens; the size of the window is not known yet"
    percent = status.get("percent")
    share = f" ({int(percent + 0.5)}%)" if isinstance(percent, int | float) else ""
    return f"{about}{used:,} of {window:,} tokens{share}"


Severity = Literal["info", "warning", "error"]


def notice_of(method: str, params: Json) -> tuple[Severity, str] | None:
    """Returns the severity and the text of a notification that is a notice; None for any other. An
    error that ends a turn is reported by the turn's end instead.
    """
    match method:
        case "warning" | "guardianWarning":
            return "warning", as_text(params.get("message"))
        case "error" if params.get("willRetry"):
            return "warning", words_of_error(as_text(as_dict(params.get("error")).get("message")))
        case "configWarning" | "deprecationNotice":
            return "warning", "\n".join(
                filter(None, (as_text(params.get("summary")), as_text(params.get("details"))))
            )
        case "windows/worldWritableWarning":
            return "warning", "Some folders can be written by everybody."
        case "model/rerouted":
            wanted, used = as_text(params.get("fromModel")), as_text(params.get("toModel"))
            return "info", f"{used} answers instead of {wanted}."
        case _:
            return None
