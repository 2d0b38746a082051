"""A picture of a conversation, which can be sent to somebody."""

import base64
from pathlib import Path

import pytest
from trimpoint.testkit import run, say

from tests.web.browser import needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

# The width and height of a PNG, and its colours by how many pixels have them.
LOOK = """async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0);
    const counts = new Map();
    const pixels = new Uint32Array(pen.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    for (const pixel of pixels) {
        counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
    }
    const most = [...counts].toSorted(([, one], [, other]) => other - one)[0];
    const back = [most[0] & 255, (most[0] >> 8) & 255, (most[0] >> 16) & 255];
    return [canvas.width, canvas.height, counts.size, back];
}"""


@pytest.mark.parametrize(
    ("theme", "back"), [("light", [255, 255, 255]), ("dark", [20, 20, 23])], ids=["light", "dark"]
)
async def test_a_conversation_is_saved_as_a_picture_of_what_the_page_shows(
    stage: Stage, tmp_path: Path, theme: str, back: list[int]
) -> None:
    await stage.page.emulate_media(color_scheme=theme)
    await stage.thread()
    heights = list[int]()
    for number in range(2):
        stage.will_answer(run(f"echo said-{number}"), say("```python\ndef f():\n    return 1\n```"))
        await stage.send("one?")
        await stage.page.locator(".code .token-keyword").nth(2 * number + 1).wait_for()
        await stage.idle()
        await stage.page.get_by_role("button", name="More").click()
        async with stage.page.expect_download() as downloading:
            await stage.page.get_by_role("menuitem", name="Save as a picture").click()
        download = await downloading.value
        assert download.suggested_filename == "one.png"
        await download.save_as(tmp_path / "one.png")
        data = base64.b64encode((tmp_path / "one.png").read_bytes()).decode()
        width, height, colours, most = await stage.page.evaluate(LOOK, data)
        assert width == 2 * 52 * 16
        assert colours > 50  # letters, in colours of code, with soft edges
        assert most == back
        heights.append(height)
    assert heights[1] > heights[0] + 200
    assert await stage.page.locator(".picture").count() == 0
