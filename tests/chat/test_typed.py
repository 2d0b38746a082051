"""What is typed and pasted: files, folded texts, images; and what is shown of long ones."""

from pathlib import Path

from trimpoint.tui.model.details import changed_in, output_begun, shown_prompt
from trimpoint.tui.model.pasted import OF_PASTES, Pastes, images_pasted, input_of
from trimpoint.tui.model.popup import FileMenu, file_typed, paths_of

from tests.chat.entries import did


def test_a_word_with_an_at_sign_names_a_file() -> None:
    assert file_typed("read @src/a") == "@src/a"
    assert file_typed("@") == "@"
    assert file_typed("me@example.com") is None
    menu = FileMenu()
    menu.offer("@a", ["src/app.py", "two words.py"])
    assert (menu.completed("@a"), menu.completed("@ab"), menu.is_whole()) == (
        "@src/app.py ", None, False,
    )  # fmt: skip
    menu.move(1)
    assert menu.completed("@a") == '@"two words.py" '
    menu.offer("@src/app.py", ["src/app.py"])
    assert menu.is_whole()


def test_git_s_own_files_are_no_files_of_a_folder() -> None:
    files = [
        {"path": ".git/HEAD", "match_type": "file"},
        {"path": ".gitignore", "match_type": "file"},
        {"path": "src", "match_type": "directory"},
    ]
    assert paths_of({"files": files}) == [".gitignore", "src/"]
    assert paths_of(None) == []


def test_pastes_are_distinguished_and_unfolded_once() -> None:
    pastes = Pastes()
    first, second = "a\n" * 30, "b\n" * 30
    assert pastes.folded("short", OF_PASTES) == "short"
    assert pastes.folded(first, OF_PASTES) == "[pasted 31 lines]"
    assert pastes.folded(second, OF_PASTES) == "[pasted 31 lines, 2]"
    assert pastes.folded(first, OF_PASTES) == "[pasted 31 lines]"
    about = pastes.folded("[pasted 31 lines]" * 200, OF_PASTES)
    assert about == "[pasted 3,400 characters]"
    assert pastes.unfolded("x [pasted 31 lines, 2] y") == f"x {second} y"
    assert pastes.unfolded(about) == "[pasted 31 lines]" * 200
    assert pastes.name_before("x [pasted 31 lines]") == "[pasted 31 lines]"
    assert pastes.name_before("x [image /a b.png]") == "[image /a b.png]"
    assert pastes.name_before("x") is None


def test_only_paths_of_images_are_taken_for_images(tmp_path: Path) -> None:
    for name in ("a.png", "b c.jpg", "d.txt"):
        (tmp_path / name).touch()
    one, two, text = (str(tmp_path / name) for name in ("a.png", "b c.jpg", "d.txt"))
    assert images_pasted(f"{one}\n") == f"[image {one}]"
    assert images_pasted(two) == f"[image {two}]"
    assert images_pasted(f"'{one}' file://{two.replace(' ', '%20')}") == (
        f"[image {one}] [image {two}]"
    )
    for other in (text, f"{one} {text}", "a.png", f"{one}.png", "it's", "", "x\0.png"):
        assert images_pasted(other) is None
    sent = input_of(f"See [image {one}], [image {one}] and [image /none.png]")
    assert [part.get("path") for part in sent] == [one, None]


def test_of_long_prompts_and_outputs_a_few_lines_are_shown() -> None:
    assert shown_prompt("one\ntwo", is_open=False) == "one\ntwo"
    assert shown_prompt("x\n" * 21, is_open=False).endswith("x\n▸ … 1 more line")
    assert shown_prompt("x\n" * 900, is_open=True).endswith("x\n… 500 more lines")
    assert shown_prompt("x" * 9_000, is_open=False).endswith("x\n▸ … more")
    ran = {"command": "x", "aggregatedOutput": "1\n2\n3\n4\n5\n"}
    shown = [line.text for line in output_begun(did("commandExecution", ran))]
    assert shown == ["1", "2", "… 2 more lines", "5"]
    ran["aggregatedOutput"] = "1\n2\n3\n4\n"
    assert [line.text for line in output_begun(did("commandExecution", ran))] == list("1234")
    assert output_begun(did("commandExecution", {})) == []
    assert output_begun(did("fileChange", ran)) == []


def test_changed_files_are_named_from_the_folder_with_their_counts() -> None:
    changes = [
        {"path": "/work/shop/src/new.py", "kind": {"type": "add"}, "diff": "a\nb\n"},
        {"path": "/else/old.py", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-a\n+b"},
    ]
    entry = changed_in(did("fileChange", {"changes": changes}), "/work/shop")
    assert entry.title == "src/new.py, /else/old.py  +3 -1"
    assert changed_in(did("fileChange", {}), "/work/shop").title == "title"
