"""What the README of the library says of the peer, run as it is printed."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "protocol" / "README.md"


def test_the_example_of_a_conversation_without_io_holds() -> None:
    section = README.read_text().partition("## A conversation without I/O")[2]
    [code] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(code, {})
