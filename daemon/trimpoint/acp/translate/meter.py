"""Translates the context meter to `usage_update`."""

from trimpoint.acp.json_access import Json, as_object
from trimpoint.acp.wire.updates import Usage


def usage_of(status: Json) -> Usage | None:
    """Returns the meter; None while the window's size is unknown."""
    used, window = status.get("usedTokens"), status.get("windowTokens")
    if not isinstance(used, int) or not isinstance(window, int) or window <= 0:
        return None
    more = {name: status.get(name) for name in ("estimated", "unknown", "level", "leftPercent")}
    auto = as_object(status.get("auto"))
    if auto:
        more["auto"] = {"state": auto.get("state"), "message": auto.get("message")}
    return Usage(used=used, size=window, meta={"trimpoint": more})


def meter_text(status: Json) -> str:
    """Returns the meter as a phrase."""
    used, window = status.get("usedTokens"), status.get("windowTokens")
    if not isinstance(used, int):
        return "not known yet"
    about = "about " if status.get("estimated") else ""
    if not isinstance(window, int) or window <= 0:
        return f"{about}{used:,} tokens; the size of the window is not known yet"
    percent = status.get("percent")
    share = f" ({int(percent + 0.5)}%)" if isinstance(percent, int | float) else ""
    return f"{about}{used:,} of {window:,} tokens{share}"
