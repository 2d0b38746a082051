"""Extracts the text of a compaction's summary from the message that Claude Code writes. Pure."""

import re

OPENING = "This session is being continued from a previous conversation"
_HEADING = re.compile(r"\bSummary:\s+")
HEADING_WITHIN = 600
CLOSINGS = (
    "\n\nIf you need specific details from before compaction",
    "\n\nRecent messages are preserved verbatim",
    "\nContinue the conversation from where",
    "\nContinue with the last task",
    "\nPlease continue the conversation from where",
)


def summary_in(text: str) -> str:
    """Returns the summary alone; a text of another form is returned unchanged."""
    if not text.startswith(OPENING):
        return text
    heading = _HEADING.search(text, 0, HEADING_WITHIN)
    start = heading.end() if heading is not None else text.find("\n") + 1
    ends = [at for closing in CLOSINGS if (at := text.rfind(closing)) >= start]
    return text[start : min(ends, default=len(text))].strip("\n")
