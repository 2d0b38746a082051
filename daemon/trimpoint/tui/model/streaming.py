"""Finds the part of a streamed Markdown answer whose rendering no longer changes."""

_FENCES = ("```", "~~~")


def settled(text: str) -> int:
    """Returns the number of characters up to the last blank line that is outside of a code block.
    Their rendering does not change when more text arrives, so only the text after them is rendered
    again.
    """
    end, position, fence = 0, 0, ""
    for line in text.splitlines(keepends=True):
        position += len(line)
        mark = line.lstrip()[:3]
        if fence:
            fence = "" if mark == fence else fence
        elif mark in _FENCES:
            fence = mark
        elif not line.strip() and line.endswith("\n"):
            end = position
    return end
