"""Finds where a half-written Markdown answer is settled: what comes later does not change it."""

_FENCES = ("```", "~~~")


def settled(text: str) -> int:
    """Returns how many characters are settled: up to the last blank line outside of a code block.

    A block that is not finished is drawn anew with each piece; what stands before it is not.
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
