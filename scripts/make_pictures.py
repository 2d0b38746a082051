"""Makes the pictures of the README from what `trimpoint demo` really prints:
`scripts/make-pictures`.
"""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

COLUMNS = 92
PICTURES = {"clear": "/clear 2", "compact": "/compact", "timeline": "The timeline"}
OUT = Path(__file__).resolve().parents[1] / "docs" / "img"
HEADING = re.compile(r"^(.*?) ─{20,}$")


def main() -> None:
    """Writes one SVG for each section of the demo that the README shows."""
    OUT.mkdir(parents=True, exist_ok=True)
    sections = by_heading(demo_output())
    timeline = sections[PICTURES["timeline"]]
    end = next(at for at, line in enumerate(timeline) if line.plain.startswith("✓ pruned"))
    sections[PICTURES["timeline"]] = timeline[: end - 1]
    for name, heading in PICTURES.items():
        (OUT / f"{name}.svg").write_text(svg(sections[heading], name), encoding="utf-8")


def demo_output() -> str:
    """Returns what the demo prints on a terminal, with its colours."""
    parent, child = pty.openpty()
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "COLORTERM": "truecolor",
    }
    command = [sys.executable, "-m", "trimpoint", "demo", "--all"]
    with subprocess.Popen(command, stdout=child, stdin=subprocess.DEVNULL, env=environment) as demo:
        os.close(child)
        chunks = iter(lambda: read(parent), b"")
        output = b"".join(chunks)
    os.close(parent)
    if demo.returncode:
        raise SystemExit(f"The demo ended with {demo.returncode}.")
    return output.decode().replace("\r\n", "\n")


def read(descriptor: int) -> bytes:
    """Reads the next bytes of a terminal; empty when the program has exited."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def by_heading(output: str) -> dict[str, list[Text]]:
    """Returns the lines of each section."""
    sections: dict[str, list[Text]] = {}
    current: list[Text] = []
    for line in output.splitlines():
        text = Text.from_ansi(line.rpartition("\r")[2])
        if heading := HEADING.match(text.plain):
            current = sections.setdefault(heading[1], [])
        else:
            current.append(text)
    return sections


def svg(lines: list[Text], name: str) -> str:
    """Returns a picture of these lines as SVG."""
    sink = open(os.devnull, "w")  # noqa: SIM115
    console = Console(record=True, width=COLUMNS, file=sink, force_terminal=True)
    for line in lines:
        console.print(line, no_wrap=True, crop=True)
    plain = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    plain = plain.replace("Fira Code", "ui-monospace").replace(
        "<!-- Generated with Rich https://www.textualize.io -->", ""
    )
    return console.export_svg(title="trimpoint", code_format=plain, unique_id=f"trimpoint-{name}")


if __name__ == "__main__":
    main()
