"""Text of a model is shown and never executed: no script, no request, and no link except to the
web.
"""

from typing import Any

import pytest
from trimpoint.testkit import Reply, run, say

from tests.web.browser import needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

HOSTILE = """
<script>window.hurt = 1</script>
<img src=x onerror="window.hurt = 2">
<iframe src="https://evil.example/frame"></iframe>
<style>body { display: none }</style>

[a script](javascript:window.hurt=3) [data](data:text/html,<script>window.hurt=4</script>)
[a file](file:///etc/passwd) [web](https://example.com/) <https://example.com/auto>
![remote](https://evil.example/pixel.png) ![local](data:image/svg+xml,<svg onload=alert(1)>)

| <b onclick="window.hurt=5">x</b> | y |
|--|--|
| <svg onload="window.hurt=6"> | `<script>` |

```html
<script>window.hurt = 7</script>
```

```constructor
one
```

```__proto__
two
```

- [ ] <a href="javascript:window.hurt=8">task</a> $$\\int_0^1 x\\,dx$$ &copy;
  [https://bank.example/login](https://evil.example/login)

\u202egnissap \u001b[31mred\u001b[0m &lt;script&gt; &#60;b&#62; the end.
"""


async def test_markdown_of_the_model_runs_no_script_and_loads_nothing(stage: Stage) -> None:
    requests: list[str] = []

    def on_request(request: Any) -> None:
        requests.append(request.url)

    def on_dialog(dialog: Any) -> None:
        requests.append(f"dialog {dialog.message}")

    stage.page.on("request", on_request)
    stage.page.on("dialog", on_dialog)
    await stage.thread()
    stage.will_answer(say(HOSTILE))
    await stage.send("Write something.")
    await stage.page.get_by_text("the end.").wait_for()
    await stage.idle()
    answer = stage.page.locator(".answer")
    assert await stage.page.evaluate("window.hurt") is None
    assert await answer.locator("script, iframe, img, style, svg[onload], [onclick]").count() == 0
    links: list[Any] = await answer.locator("a").evaluate_all("all => all.map(a => a.href)")
    assert links
    assert all(link.startswith(("https://", "mailto:")) for link in links), links
    rels = await answer.locator("a").evaluate_all("all => all.map(a => a.rel)")
    assert set(rels) == {"noreferrer noopener"}
    text = await answer.inner_text()
    assert "<script>window.hurt = 1</script>" in text
    assert "<script> <b> the end." in text
    assert "$$\\int_0^1 x\\,dx$$ ©" in text
    assert "⟨U+202E⟩gnissap ⟨U+001B⟩[31mred" in text
    assert "https://bank.example/login (evil.example)" in text
    assert await answer.locator(".code").count() == 3
    assert [url for url in requests if not url.startswith(stage.origin)] == []


async def test_hidden_characters_are_seen_wherever_words_stand(stage: Stage) -> None:
    await stage.thread()
    hidden, shown = "a\u202eb\u200bc", "a⟨U+202E⟩b⟨U+200B⟩c"
    stage.will_answer(run(f"echo {hidden}"), say(f"{hidden} `{hidden}` **{hidden}**"))
    await stage.send(f"Say {hidden}.")
    await stage.page.locator(".answer").get_by_text(shown).first.wait_for()
    await stage.idle()
    await stage.page.locator(".sidebar").get_by_text(shown).first.wait_for()
    for place, count in (
        (".prompt", 1),
        (".answer", 3),
        (".activity-title", 1),
        (".sidebar", 1),
        (".header", 1),
    ):
        text = "".join(await stage.page.locator(place).all_inner_texts())
        assert text.count(shown) >= count, (place, text)
        assert "\u202e" not in text, place


async def test_a_table_of_very_many_cells_is_shown_in_part(stage: Stage) -> None:
    rows = 5_000
    head = "|" + " h |" * 50 + "\n|" + "-|" * 50 + "\n"
    reply = say(head + ("|" + "x|" * 50 + "\n") * rows + "\nthe end.")
    stage.will_answer(Reply(items=reply.items, delta_chars=65536))
    await stage.thread()
    await stage.send("Write a table.")
    more = stage.page.get_by_role("button", name="other")
    await more.first.wait_for()
    await stage.idle()
    assert await stage.page.locator("td").count() <= 1500
    assert await stage.page.evaluate("document.documentElement.scrollWidth") <= 1280
    await stage.turns("And now?|short-2.")


async def test_an_answer_of_ten_megabytes_is_shown_and_the_page_stays_usable(stage: Stage) -> None:
    row = "| " + " | ".join(f"cell {n}" for n in range(12)) + " |\n"
    table = "| " + " | ".join("h" for _ in range(12)) + " |\n|" + "--|" * 12 + "\n" + row * 300
    reply = say(f"{table}\n\n{'long ' * 2_000_000}\n\nthe end.")
    stage.will_answer(Reply(items=reply.items, delta_chars=65536))
    await stage.thread()
    await stage.send("Write much.")
    rest = stage.page.get_by_role("button", name="characters as plain text")
    await rest.wait_for()
    await stage.idle()
    await stage.turns("And now?|short-2.")
    assert await stage.page.evaluate("document.documentElement.scrollWidth") <= 1280
    await rest.click()
    text = await stage.page.get_by_label("The rest of a long answer").inner_text()
    assert 300_000 < len(text) < 1_000_000
    await stage.page.get_by_text("more characters: copy the answer").wait_for()
    await stage.turns("Still there?|short-3.")
