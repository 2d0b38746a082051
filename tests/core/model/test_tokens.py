"""Estimates of an item's tokens. The true counts are those of the o200k vocabulary, counted
once.
"""

from typing import Any

import msgspec
import pytest
from trimpoint.core.model import tokens
from trimpoint.core.model.tokens import (
    IMAGE_TOKENS,
    ITEM_TOKENS,
    SAMPLED_CHARS,
    SAMPLED_TOTAL_CHARS,
    estimate_text_tokens,
    estimate_tokens,
    estimate_total,
)

from tests.core.given import raw, raw_message

PROSE = (
    "The daemon keeps a ledger of every turn, so that a person can read what was said long after the agent has forgotten it. When the "
    "context is cleared, nothing is deleted: the boundary is written down, a new session begins behind it, and the old one is put away. "
    "Whoever comes back a week later finds the whole conversation in order, with a line that says where the agent's memory begins."
)
CODE = '''
def settle(self, deadline_s: float) -> None:
    """Wait until everything that was appended is on disk."""
    with self._lock:
        for record in self._pending:
            if record.is_durable or record.thread_id not in self.open_threads:
                continue
            self.write_record(record, timeout=deadline_s)
    raise JournalRefuses(f"only {self.bytes_free} bytes are left")
'''
DIFF = """\
diff --git a/daemon/clock.py b/daemon/clock.py
index 3f1c2ab..9d04e77 100644
--- a/daemon/clock.py
+++ b/daemon/clock.py
@@ -12,7 +12,8 @@ def now_ms() -> int:
-    return int(time.time() * 1000)
+    seconds = time.time()
+    return round(seconds * 1000)
"""
JSON = '{"threadId":"01a22060-fbce-7e90","entries":[{"kind":"message","role":"user","trimmed":false,"createdAt":"2026-11-28T04:19:16.210Z"}]}'
CHINESE = "守护进程记录每一轮对话,因此即使代理已经忘记,人们仍然可以阅读所说的内容。清除上下文时,不会删除任何内容。"
RUSSIAN = "Демон ведёт журнал каждого хода, поэтому человек может прочитать сказанное и после того, как агент это забыл."
BASE64 = "NVtaakzUAx4z4MrbvqP1d07sL/iHGvQ0w3DY5ooQSHxIJ2NbR8V6jy2dVZR5kqT3wXyB9dPqHf0LmZ8cJtE1uRgSaWvKxOi7nYpQbCeDhFl6A2"
EMOJI = "Done 🎉🚀"


@pytest.mark.parametrize(
    ("text", "tokens", "error"),
    [
        (PROSE, 82, 0.10),
        (CODE, 86, 0.20),
        (DIFF, 96, 0.20),
        (JSON, 52, 0.20),
        (CHINESE, 41, 0.20),
        (RUSSIAN, 26, 0.25),
        (BASE64, 87, 0.20),
        (EMOJI, 5, 0.50),
    ],
)
def test_text_is_estimated_about_right(text: str, tokens: int, error: float) -> None:
    assert estimate_text_tokens(text) == pytest.approx(tokens, rel=error)


@pytest.mark.parametrize("longer", [1, 10, 100_000, 3_000_000])
def test_a_very_long_text_is_estimated_from_a_part_of_it(longer: int) -> None:
    text = "".join(f"line {number} of é text, " for number in range(SAMPLED_CHARS // 20))
    text = (text * (2 + longer // len(text)))[: SAMPLED_CHARS + longer]
    # Cut where no piece is long enough to be sampled.
    pieces = [text[start : start + 50_000] for start in range(0, len(text), 50_000)]
    whole = sum(map(estimate_text_tokens, pieces))
    assert estimate_text_tokens(text) == pytest.approx(whole, rel=0.02)


def test_only_an_empty_text_has_zero_tokens() -> None:
    assert [estimate_text_tokens(text) for text in ("", "a", " ")] == [0, 1, 1]


def test_an_item_costs_what_its_texts_cost_and_not_what_its_framing_would() -> None:
    assert estimate_tokens(raw_message("user", PROSE)) == ITEM_TOKENS + estimate_text_tokens(PROSE)
    said = {"name": "ls", "arguments": "{}"}
    labels = {"turn_id": PROSE, "create_time": 1795839557.3}
    framed = raw(
        type="function_call",
        id="fc_3",
        call_id=BASE64,
        internal_chat_message_metadata_passthrough=labels,
        **said,
    )
    assert estimate_tokens(framed) == estimate_tokens(raw(**said))


@pytest.mark.parametrize(
    "item", [{}, {"type": "reasoning", "summary": [], "content": None, "encrypted_content": None}]
)
def test_an_empty_item_still_parts_its_neighbours(item: dict[str, Any]) -> None:
    assert estimate_tokens(raw(**item)) == ITEM_TOKENS


def test_an_image_costs_the_same_whatever_its_bytes() -> None:
    for data in ("AAAA", "AAAA" * 100_000):
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{data}"}
        assert (
            estimate_tokens(raw(type="message", role="user", content=[image]))
            == ITEM_TOKENS + IMAGE_TOKENS
        )
        assert (
            estimate_tokens(raw(type="function_call_output", call_id="c", output=[image]))
            == ITEM_TOKENS + IMAGE_TOKENS
        )


def test_sealed_content_is_judged_by_its_length() -> None:
    def sealed(length: int) -> int:
        return (
            estimate_tokens(raw(type="reasoning", summary=[], encrypted_content="A" * length))
            - ITEM_TOKENS
        )

    assert [sealed(length) for length in (10, 800, 6_200)] == [0, 0, 1_000]


def test_numbers_and_flags_in_an_item_count_as_one_each() -> None:
    assert (
        estimate_tokens(raw(type="web_search_call", action={"page": 3, "live": True, "site": None}))
        == ITEM_TOKENS + 2
    )


def test_texts_of_one_item_are_weighed_each_from_its_beginning() -> None:
    texts = [PROSE, "\nlines\n", "clear", "清除 it", "\n", "3"]
    parts = [{"type": "input_text", "text": text} for text in texts]
    alone = [raw(type="message", role="user", content=[part]) for part in parts]
    together = estimate_tokens(raw(type="message", role="user", content=parts)) - ITEM_TOKENS
    # Each estimate is rounded.
    apart = sum(estimate_tokens(item) - ITEM_TOKENS for item in alone)
    assert abs(together - apart) <= len(texts) / 2


def test_many_items_cost_what_each_costs_and_very_large_ones_about_that() -> None:
    items = [raw_message("user", f"{n} {text}") for n in range(50) for text in (PROSE, CODE)]
    assert estimate_total(items) == sum(map(estimate_tokens, items))
    large = items * (4 * SAMPLED_TOTAL_CHARS // sum(map(len, items)))
    image = raw(type="message", role="user", content=[{"type": "input_image", "image_url": "x"}])
    costs = sum(map(estimate_tokens, large))
    assert estimate_total(large) == pytest.approx(costs, rel=0.02)
    assert estimate_total([*large, image]) == estimate_total(large) + ITEM_TOKENS + IMAGE_TOKENS


@pytest.mark.parametrize(("chars", "times"), [(800, 1), (2_000, 2)])
def test_a_short_item_is_weighed_once(
    monkeypatch: pytest.MonkeyPatch, chars: int, times: int
) -> None:
    weighed: list[bytes] = []
    inner = tokens._weigh

    def counted(items: list[bytes], sampled_chars: int) -> float:
        weighed.extend(items)
        return inner(items, sampled_chars)

    monkeypatch.setattr(tokens, "_weigh", counted)
    tokens._tokens_of_short.cache_clear()
    item = msgspec.json.encode({"text": "word " * (chars // 5)})
    assert estimate_tokens(item) == estimate_tokens(bytes(bytearray(item)))
    assert weighed == [item] * times
