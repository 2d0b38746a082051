"""Translates questions that need more than a choice: forms and addresses of MCP servers, and
questions of the agent.
"""

from typing import Any, NamedTuple

from trimpoint_protocol.lenient import Json, as_dict, as_dicts, as_text

from trimpoint.acp.wire.capabilities import Capabilities

DECLINED: Json = {"action": "decline"}
CANCELLED: Json = {"action": "cancel"}


class Form(NamedTuple):
    """A question for the editor; `params` are those of `elicitation/create`, without the
    session.
    """

    params: Json


def elicitation_form(params: Json, capabilities: Capabilities) -> Form | None:
    """Returns an MCP server's question as an elicitation; None if the editor does not support its
    mode.
    """
    message = as_text(params.get("message"))
    if params.get("mode") == "form" and capabilities.form:
        return Form(
            {
                "mode": "form",
                "message": message,
                "requestedSchema": params.get("requestedSchema") or {},
            }
        )
    if params.get("mode") == "url" and capabilities.url:
        shown = {"elicitationId": params.get("elicitationId"), "url": params.get("url")}
        return Form({"mode": "url", "message": message, **shown})
    return None


def elicitation_answer(action: str, content: Any) -> Json:
    """Returns the answer for an MCP server, from the editor's answer."""
    if action == "accept":
        return {"action": "accept", "content": as_dict(content)}
    return DECLINED if action == "decline" else CANCELLED


def questions_form(params: Json, capabilities: Capabilities) -> Form | None:
    """Returns the agent's questions as a form; None if the editor has no forms, or if a question
    asks for a secret.
    """
    questions = as_dicts(params.get("questions"))
    if not capabilities.form or not questions or any(one.get("isSecret") for one in questions):
        return None
    properties = {as_text(one.get("id")): _property(one) for one in questions}
    message = "\n".join(as_text(one.get("question")) for one in questions)
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return Form({"mode": "form", "message": message, "requestedSchema": schema})


def questions_answer(action: str, content: Any) -> Json:
    """Returns the answer for the agent: each question's answer by the question's id."""
    given = as_dict(content) if action == "accept" else {}
    return {"answers": {name: {"answers": [str(value)]} for name, value in given.items()}}


def draft_form(outcome: Json, capabilities: Capabilities) -> Form | None:
    """Returns the text that a command has drafted as a form, in which it can be changed; None if
    there is none, or the editor has no forms.
    """
    draft = as_dict(outcome.get("draft"))
    if not draft or not capabilities.form:
        return None
    text = {"type": "string", "title": "Take this text", "default": as_text(draft.get("text"))}
    properties: Json = {"text": text}
    if draft.get("anew"):
        title = "Or have it written anew, and mind this"
        properties["anew"] = {"type": "string", "title": title}
    schema = {"type": "object", "properties": properties}
    said = as_text(outcome.get("said")) or as_text(outcome.get("message"))
    return Form({"mode": "form", "message": said, "requestedSchema": schema})


def draft_left(outcome: Json) -> Json:
    """Returns the outcome of a command whose draft was not taken."""
    return {
        "handled": True,
        "command": outcome.get("command"),
        "status": "skipped",
        "reason": "nothing_chosen",
        "message": "Nothing was changed.",
    }


def draft_command(draft: Json, action: str, content: Any) -> str | None:
    """Returns the command that the answer to `draft_form` stands for; None if nothing is to be
    done. A text that differs from the draft in blanks alone is the draft: an editor whose field
    has one line cannot keep them.
    """
    given = as_dict(content) if action == "accept" else {}
    minding, text = (as_text(given.get(name)).strip() for name in ("anew", "text"))
    accept, anew = as_text(draft.get("accept")), as_text(draft.get("anew"))
    if minding and anew:
        return f"{anew} {minding}"
    if text.split() == as_text(draft.get("text")).split():
        return accept if anew else None  # else it is what stands there already
    return f"{accept} {text}" if text else None


def _property(question: Json) -> Json:
    shown: Json = {
        "type": "string",
        "title": as_text(question.get("header")) or as_text(question.get("question")),
        "description": as_text(question.get("question")),
    }
    choices = as_dicts(question.get("options"))
    if choices and not question.get("isOther"):
        shown["oneOf"] = [
            {"const": as_text(one.get("label")), "title": as_text(one.get("label"))}
            for one in choices
        ]
    return shown
