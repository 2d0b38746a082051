"""The lines of a printed diff."""

from rich.console import Console
from trimpoint.cli.views.diff_view import counts, diff_rows, file_table
from trimpoint_protocol.shapes.checkpoints import FileChange, FilesChanged

_DIFF = """\
diff --git a/old name b/new name
similarity index 90%
rename from old name
rename to new name
index 1..2 100644
--- a/old name\t
+++ b/new name\t
@@ -10,3 +10,3 @@ def f():
 same
-gone
+come
 last
\\ No newline at end of file
@@ -90 +90,2 @@
-x
+y
+--- not a header
diff --git a/bin b/bin
new file mode 100644
index 0..1
Binary files /dev/null and b/bin differ
diff --git a/dead b/dead
deleted file mode 100644
--- a/dead
+++ /dev/null
@@ -1 +0,0 @@
-esc \x1b[31m
"""


def test_lines_have_their_numbers_and_files_their_names() -> None:
    assert [row.plain for row in diff_rows(_DIFF)] == [
        "",
        "new name",
        "rename from old name",
        "rename to new name",
        "     ⋯def f():",
        "    10  same",
        "    11 -gone",
        "    11 +come",
        "    12  last",
        "       \\ No newline at end of file",
        "     ⋯",
        "    90 -x",
        "    90 +y",
        "    91 +--- not a header",
        "",
        "bin",
        "new file mode 100644",
        "Binary files /dev/null and b/bin differ",
        "",
        "dead",
        "deleted file mode 100644",
        "     ⋯",
        "     1 -esc ␛[31m",
    ]
    styles = {row.plain.strip()[3:7]: row.spans[-1].style for row in diff_rows(_DIFF) if row.spans}
    assert (styles["+com"], styles["-gon"]) == ("green", "red")


def test_an_empty_diff_has_no_rows() -> None:
    assert list(diff_rows("")) == []


def test_files_are_listed_with_their_lines() -> None:
    console = Console(width=60, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(
            file_table(
                [
                    _file("a", "modified", 3, 1),
                    _file("b", "added", 2, 0),
                    _file("c", "deleted", 0, 4),
                    _file("d", "renamed", 0, 0, old_path="e"),
                    _file("bin\x1b", "typeChanged", None, None),
                ]
            )
        )
    assert [" ".join(line.split()) for line in console.export_text().splitlines()] == [
        "M a +3 -1",
        "A b +2",
        "D c -4",
        "R e → d",
        "T bin␛ binary",
    ]


def test_totals_leave_out_what_is_none() -> None:
    assert counts(FilesChanged(files=1, additions=0, deletions=2)).plain == "1 file -2"
    assert counts(FilesChanged(files=0, additions=0, deletions=0)).plain == "no files"
    assert counts(FilesChanged(files=3, additions=12, deletions=4)).plain == "3 files +12 -4"


def _file(
    path: str,
    status: str,
    additions: int | None,
    deletions: int | None,
    old_path: str | None = None,
) -> FileChange:
    return FileChange(
        path=path,
        old_path=old_path,
        status=status,  # type: ignore[arg-type]
        additions=additions,
        deletions=deletions,
        binary=additions is None,
    )
