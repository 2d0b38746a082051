"""Characters for outputs that cannot write all of Unicode: each sign of ours has a plain one of the
same width.
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
    """Returns what to write in the place of characters that cannot be encoded; `?` for a text's."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in unknown), error.end


codecs.register_error(_ERRORS, _plainer)


def write_plainly(stream: TextIO | None) -> None:
    """Has `stream` write plain characters where its encoding lacks one, instead of failing."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=_ERRORS)
