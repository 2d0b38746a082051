"""Translates Codex's warnings and errors to notices."""

from typing import Literal

from trimpoint.acp.json_access import Json, as_object, as_text

Severity = Literal["info", "warning", "error"]


def notice_of(method: str, params: Json) -> tuple[Severity, str] | None:
    """Returns the severity and the text of a notification that is a notice; None for any other. An
    error that ends a turn is reported by the turn's end instead.
    """
    match method:
        case "warning" | "guardianWarning":
            return "warning", as_text(params.get("message"))
        case "error" if params.get("willRetry"):
            return "warning", as_text(as_object(params.get("error")).get("message"))
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
