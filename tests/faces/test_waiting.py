"""A thread that waits for a person is seen from another one, in each face, while it waits."""

from tests.faces.stage import Face


async def test_threads_that_ask_are_counted_and_do_not_take_the_keys(face: Face) -> None:
    await face.others_ask()
    quiet = await face.screen()
    await face.types("hal")
    await face.others_ask("the shop", "the garden")
    await face.types("f done")
    shown = await face.screen()
    assert await face.prompt() == "half done"
    assert "2" in _line_about_others(shown)
    await face.others_ask()
    assert _line_about_others(quiet) == _line_about_others(await face.screen()) == ""


def _line_about_others(screen: str) -> str:
    lines = screen.splitlines()
    return next((line for line in lines if "elsewhere" in line or "threads ask" in line), "")
