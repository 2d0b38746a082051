"""A change's file is opened in the person's editor at its line, by a key and by a click."""

import sys
from pathlib import Path

import pytest
from rich.style import Style
from trimpoint.cli import editor
from trimpoint.testkit import run, say
from trimpoint.tui.model.details import details
from trimpoint.tui.model.spots import Spot, first_spot, opening, spot_clicked
from trimpoint.tui.widgets.editor import opened

from tests.chat.entries import did, said
from tests.chat.terminal import chat
from tests.cli.stage import CliHarness

CHANGED = "@@ -1,3 +7,4 @@\n a\n b\n-c\n+d\n+e\n@@ -30 +40,2 @@\n x\n+y\n"
RECORDS = "import sys; from pathlib import Path; Path({!r}).write_text('|'.join(sys.argv[1:]))"


def change(path: str, diff: str, kind: object = "update") -> dict[str, object]:
    return {"changes": [{"path": path, "diff": diff, "kind": kind}]}


@pytest.mark.parametrize(
    ("detail", "spot"),
    [
        (change("a.py", CHANGED), Spot("a.py", 9)),
        (change("a.py", "text\nof it", "add"), Spot("a.py", 1)),
        (change("a.py", "@@ -1,2 +0,0 @@\n-a\n-b"), Spot("a.py", 1)),
        (change("a.py", CHANGED, {"type": "update", "move_path": "b.py"}), Spot("b.py", 9)),
        (change("a.py", "nonsense"), Spot("a.py", 1)),
        ({"changes": []}, None),
    ],
)
def test_a_change_begins_at_the_first_line_that_is_another(
    detail: dict[str, object], spot: Spot | None
) -> None:
    assert first_spot(did("fileChange", detail)) == spot


def test_only_the_heads_of_an_opened_change_open_a_file() -> None:
    found = [one.spot for one in details(did("fileChange", change("a.py", CHANGED)))]
    assert [one for one in found if one] == [Spot("a.py", 9), Spot("a.py", 7), Spot("a.py", 40)]
    assert spot_clicked(opening(Spot("a b.py", 3))) == Spot("a b.py", 3)
    assert spot_clicked(Style()) is None
    assert first_spot(said("1", "a")) is None
    assert first_spot(did("plan", {})) is None


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("vim -u NONE", ["+7", "/w/a:1 b.py"]),
        ("/usr/bin/nano", ["+7", "/w/a:1 b.py"]),
        ("code --wait", ["--goto", "/w/a:1 b.py:7"]),
        ("hx", ["/w/a:1 b.py:7"]),
        ("other", ["/w/a:1 b.py"]),
        ("'unclosed", ["/w/a:1 b.py"]),
    ],
)
def test_an_editor_is_told_the_line_as_it_takes_it(
    program: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", program)
    assert editor._at("/w/a:1 b.py", 7) == arguments


@pytest.mark.parametrize("path", ["gone.py", ".", "a\0b", "x" * 5000])
def test_what_is_no_file_is_not_opened(path: str, tmp_path: Path) -> None:
    reason = opened(None, str(tmp_path), Spot(path, 1))  # type: ignore[arg-type]
    assert reason is not None
    assert reason.endswith("is not there, or is no file.")


@pytest.mark.processes
async def test_an_editor_that_cannot_be_run_has_not_opened_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("no-such-program", "'unclosed"):
        monkeypatch.setenv("VISUAL", program)
        assert not editor.opened(tmp_path, 1)


@pytest.mark.codex
async def test_the_file_of_a_change_is_opened_by_a_key_and_by_a_click(stage: CliHarness) -> None:
    patch = "*** Begin Patch\n*** Add File: -new file.py\n+one\n+two\n*** End Patch\n"
    stage.script.then(run(f"apply_patch <<'EOF'\n{patch}EOF\n"), say("Changed."))
    seen = stage.folder / "seen"
    program = stage.folder / "vim"
    program.write_text(f"#!{sys.executable}\n{RECORDS.format(str(seen))}\n")
    program.chmod(0o755)
    asked = ["ask", "-a", "never", "-s", "danger-full-access", "prompt-1."]
    async with stage.serving():
        assert (await stage.run(*asked)).code == 0
        assert (stage.worktree / "-new file.py").exists()
        async with chat(stage, VISUAL=str(program)) as terminal:
            await terminal.shows("Changed.")
            await terminal.types("\t\x1b[A", enter=False)
            await terminal.types("\x07", enter=False)
            await terminal.shows(lambda _: seen.exists() and seen.read_text() != "")
            path = stage.worktree / "-new file.py"
            assert seen.read_text() == f"+1|{path}"
            seen.unlink()
            await terminal.types("\x0f", enter=False)
            shown = await terminal.shows("+two")
            row = next(at for at, line in enumerate(shown.splitlines()) if "+2 -0" in line)
            row += sum("+2 -0" in line for line in shown.splitlines()) - 1
            terminal.presses(b"\x1b[<0;8;%dM\x1b[<0;8;%dm" % (row + 1, row + 1))
            await terminal.shows(lambda _: seen.exists() and seen.read_text() != "")
            path.unlink()
            terminal.presses(b"\x07")
            await terminal.shows("is not there, or is no file.")
