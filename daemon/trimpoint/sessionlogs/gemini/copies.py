"""Finds the messages of a list that repeat live messages under new ids. Pure.

Compressing a chat and resuming a saved one write the remaining messages again, with the same words
and other ids (measured: 0.61.0).
"""

from collections.abc import Mapping

from trimpoint.sessionlogs.gemini.messages import output_of, parts_of, text_of
from trimpoint.sessionlogs.gemini.rows import Message

Features = tuple[str | None, str, tuple[str | None, ...], tuple[str, ...]]


def features_of(message: Message) -> Features:
    """Returns what copies of a message have in common: author, text, called tools, and
    tool results.
    """
    parts = parts_of(message)
    calls = [part.function_call.name for part in parts if part.function_call is not None]
    calls = calls or [call.name for call in message.tool_calls or ()]
    answers = [
        output_of(part.function_response.response)
        for part in parts
        if part.function_response is not None
    ]
    return message.type, text_of(message), tuple(calls), tuple(answers)


def copies_among(
    messages: list[Message], live: list[int], contents: Mapping[int, int], known: Mapping[str, int]
) -> dict[int, int]:
    """Maps the position of each message with an unknown id to the index of the live message that it
    repeats. Both are in the same order; of equal ones the newest counts.
    """
    places: dict[int, list[int]] = {}
    for place, index in enumerate(live):
        places.setdefault(contents.get(index, 0), []).append(place)
    place_of = {index: place for place, index in enumerate(live)}
    found: dict[int, int] = {}
    limit = len(live)
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.id is not None and message.id in known:
            limit = min(limit, place_of.get(known[message.id], limit))
            continue
        waiting = places.get(hash(features_of(message)), [])
        while waiting and waiting[-1] >= limit:
            waiting.pop()
        if waiting:
            limit = waiting.pop()
            found[at] = live[limit]
    return found
