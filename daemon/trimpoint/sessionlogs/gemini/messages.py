"""Converts messages of Gemini CLI to the unified form. Pure."""

from collections.abc import Iterable
from typing import Any

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.content import Content
from trimpoint.sessionlogs.gemini.rows import Message, Part, Tokens
from trimpoint.sessionlogs.records import Records

SNAPSHOT = "<state_snapshot>"
CONTEXT = ("<session_context>", "This is the Gemini CLI. We are setting up the context")


def parts_of(message: Message) -> list[Part]:
    """Returns the parts of a message; a text is one part."""
    content = message.content
    if isinstance(content, list):
        return content
    if isinstance(content, Part):
        return [content]
    return [Part(text=content)] if content else []


def text_of(message: Message) -> str:
    """Returns the text of a message, without the context that Gemini CLI inserts before a
    prompt.
    """
    texts = [part.text for part in parts_of(message) if part.text and not part.thought]
    if len(texts) > 1 and message.type == "user" and texts[0].startswith(CONTEXT):
        texts = texts[1:]
    return "".join(texts)


def is_snapshot(message: Message) -> bool:
    """Returns whether a message is the summary of a compression."""
    return message.type == "user" and text_of(message).lstrip().startswith(SNAPSHOT)


def answers_in(message: Message) -> list[str]:
    """Returns the ids of the calls that a row of results answers; empty for any other row."""
    parts = parts_of(message)
    answers = [part.function_response for part in parts if part.function_response is not None]
    return [one.id or "" for one in answers] if len(answers) == len(parts) else []


def usage_of(tokens: Tokens | None) -> u.Usage | None:
    """Returns the tokens of a model call."""
    if tokens is None:
        return None
    given, output = tokens.input or 0, tokens.output or 0
    thoughts = tokens.thoughts or 0
    return u.Usage(
        input_tokens=given,
        cached_input_tokens=tokens.cached or 0,
        output_tokens=output + thoughts,
        reasoning_output_tokens=thoughts,
        total_tokens=tokens.total or given + output + thoughts,
    )


def content_of(message: Message, records: Records) -> Content:
    """Converts a message."""
    parts = parts_of(message)
    answers = _answers(parts, records)
    role, kind = _role_and_kind(message, has_results=bool(answers))
    text = text_of(message)
    omitted = sorted({kind for part in parts for kind in _data_in(part)})
    if message.type != "gemini":
        return Content(
            id=message.id, role=role, kind=kind, text=text, tool_results=answers, omitted=omitted
        )
    calls = _calls(message, parts)
    return Content(
        id=message.id,
        role=role,
        kind="tool_call" if calls and not text else kind,
        text=text,
        tool_calls=calls,
        tool_results=_results(message),
        thoughts=_thoughts(message),
        usage=usage_of(message.tokens),
        model=message.model,
        omitted=omitted,
    )


def _answers(parts: list[Part], records: Records) -> list[u.ToolResult]:
    """Returns the results that are parts of the message."""
    return [
        u.ToolResult(
            call_id=part.function_response.id,
            output=output_of(part.function_response.response),
            call_message_index=records.call_index(part.function_response.id),
        )
        for part in parts
        if part.function_response is not None
    ]


def _data_in(part: Part) -> Iterable[str]:
    """Yields the kind of data in a part: image, audio, video, or document."""
    for data in (part.inline_data, part.file_data):
        if data is not None:
            kind = str(data.get("mimeType", "image")).partition("/")[0]
            yield kind if kind in ("image", "audio", "video") else "document"


def _calls(message: Message, parts: list[Part]) -> list[u.ToolCall]:
    calls = [
        u.ToolCall(id=call.id, name=call.name or "tool", arguments=call.args)
        for call in message.tool_calls or ()
    ]
    known = {call.id for call in calls}
    return calls + [
        u.ToolCall(id=call.id, name=call.name or "tool", arguments=call.args)
        for call in (part.function_call for part in parts)
        if call is not None and (call.id is None or call.id not in known)
    ]


def _results(message: Message) -> list[u.ToolResult]:
    """Returns the results that Gemini CLI writes beside the calls."""
    return [
        u.ToolResult(
            call_id=call.id, output=_result_text(call.result), is_error=call.status == "error"
        )
        for call in message.tool_calls or ()
        if call.result
    ]


def _thoughts(message: Message) -> str | None:
    thoughts = [
        ": ".join(filter(None, (one.subject, one.description))) for one in message.thoughts or ()
    ]
    return "\n\n".join(filter(None, thoughts)) or None


def _role_and_kind(message: Message, *, has_results: bool) -> tuple[str, str]:
    match message.type:
        case "user" if has_results:
            return "tool", "tool_result"
        case "user" if is_snapshot(message):
            return "user", "summary"
        case "user":
            text = text_of(message).lstrip()
            return "user", "preamble" if text.startswith(CONTEXT) else "prompt"
        case "gemini" | "model":
            return "assistant", "answer"
        case _:
            return "system", "notice"


def _result_text(result: list[Part] | str | None) -> str:
    if isinstance(result, list):
        return "".join(_outputs(result))
    return result or ""


def _outputs(parts: Iterable[Part]) -> Iterable[str]:
    for part in parts:
        if part.function_response is not None:
            yield output_of(part.function_response.response)
        elif part.text:
            yield part.text


def output_of(response: Any) -> str:
    """Returns a tool's result as text."""
    match response:
        case None:
            return ""
        case str():
            return response
        case {"output": str(output)} | {"error": str(output)}:
            return output
        case _:
            return msgspec.json.encode(response).decode()
