"""ASCII replacements for outputs whose encoding lacks the characters that trimpoint prints. Each
has the width of the original.
"""

import codecs
from typing import TextIO

_ERRORS = "trimpoint.plain"
_PLAIN = dict(
    pair
    for signs, plain in (
        ("❯▸→", ">"),
        ("●✻⚒", "*"),
        ("○◌", "o"),
        ("◐▾⤵", "v"),
        ("✓╭╮╰╯┌┐└┘├┤┼", "+"),
        ("✗✂×", "x"),
        ("–—─━", "-"),
        ("│┃", "|"),
        ("┊", ":"),
        ("█■", "#"),
        ("░·…⋯", "."),
        ("“”„", '"'),
        ("\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}", "'"),
        ("≈✎", "~"),
        ("☰", "="),
        ("⇲", "<"),
        ("⟳", "@"),
    )
    for pair in ((sign, plain) for sign in signs)
)


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Handles an encoding error: returns the replacement of the characters that cannot be encoded,
    `?` where there is none, and the position where encoding continues.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in unknown), error.end


codecs.register_error(_ERRORS, _plainer)


def write_plainly(stream: TextIO | None) -> None:
    """Configures `stream` to write replacements for characters that its encoding lacks, instead of
    raising an error.
    """
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=_ERRORS)
