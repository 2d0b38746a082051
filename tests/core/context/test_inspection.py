"""Inspections: the kind of each item, its data from the ledger, and consistent sums."""

from typing import Any

import msgspec
import pytest
from trimpoint.core.context.context_size import context_size
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.context.inspection import (
    InspectedItem,
    ItemClass,
    as_sent,
    inspect_context,
)
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.views.advice import trim_advice
from trimpoint.core.views.inspection_view import (
    PREDICTED,
    UNKNOWN,
    inspection,
    inspection_text,
)
from trimpoint_protocol.methods import ContextAdvice

from tests.core.given import Conversation, raw, started
from tests.core.items import call, message, output, thought

WINDOW = Policy(model_windows={"gpt-5": 1_000})
NO_ADVICE = ContextAdvice(thread_id="t", level=None, advice=[])


def text_item(role: str, *texts: str, **more: Any) -> bytes:
    content = [{"type": "input_text", "text": text} for text in texts]
    return raw(type="message", role=role, content=content, **more)


def one(item: bytes) -> InspectedItem:
    [found] = inspect_context(started().state, [item])
    return found


@pytest.mark.parametrize(
    ("item", "item_class"),
    [
        (text_item("developer", "You are an agent"), ItemClass.INSTRUCTIONS),
        (text_item("developer", "<skills_instructions>"), ItemClass.SKILLS),
        (text_item("user", "<environment_context>"), ItemClass.ENVIRONMENT),
        (text_item("user", "# AGENTS.md instructions for /x"), ItemClass.PROJECT_DOCS),
        (text_item("user", "<user_instructions>"), ItemClass.PROJECT_DOCS),
        (text_item("user", "<permissions instructions>"), ItemClass.USER),
        (text_item("user", "<conversation-summary messages=2>x"), ItemClass.SUMMARY),
        (
            text_item("user", "Another language model started to solve this problem and so on"),
            ItemClass.SUMMARY,
        ),
        (text_item("user", "Another thing"), ItemClass.USER),
        (text_item("user", "<turn_aborted>"), ItemClass.OTHER),
        (text_item("user", "hello"), ItemClass.USER),
        (text_item("assistant", "hello"), ItemClass.ASSISTANT),
        (raw(type="message", role="user", content=[]), ItemClass.OTHER),
        (
            raw(type="message", role="user", content=[{"type": "input_image", "image_url": "x"}]),
            ItemClass.IMAGE,
        ),
        (raw(type="compaction", encrypted_content="SEALED"), ItemClass.SUMMARY),
        (raw(type="additional_tools", tools=[]), ItemClass.TOOLS),
        (raw(type="configuration_update"), ItemClass.INSTRUCTIONS),
        (msgspec.json.encode(thought()), ItemClass.REASONING),
        (msgspec.json.encode(call("a")), ItemClass.TOOL_CALL),
        (msgspec.json.encode(output("a")), ItemClass.TOOL_RESULT),
        (raw(type="web_search_call", action={"query": "x"}), ItemClass.TOOL_CALL),
        (raw(type="function_call_output", call_id="a", output=[{"x": 1}]), ItemClass.TOOL_RESULT),
        (raw(type="something new"), ItemClass.OTHER),
    ],
)
def test_an_item_has_its_class(item: bytes, item_class: ItemClass) -> None:
    found = one(item)
    assert found.item_class is item_class
    assert sum(tokens for _, tokens in found.tokens_by_class) == found.tokens


def test_a_message_with_parts_of_several_kinds_counts_for_each() -> None:
    found = one(text_item("user", "# AGENTS.md instructions", "<environment_context> and so on"))
    assert [name for name, _ in found.tokens_by_class] == [
        ItemClass.PROJECT_DOCS,
        ItemClass.ENVIRONMENT,
    ]


def test_reasoning_is_shown_by_its_summary_or_as_sealed() -> None:
    summary = [{"type": "summary_text", "text": "hm"}]
    assert one(raw(type="reasoning", summary=summary)).preview == "hm"
    assert one(raw(type="reasoning", summary=[], encrypted_content="x")).preview == "(sealed)"


def test_items_of_the_ledger_are_matched_from_the_end() -> None:
    thread = started(turns=1)
    items = [message("user", "again"), thought(), call("a"), output("a"), message("assistant", "b")]
    thread.turn("again", "b", items=map(msgspec.json.encode, items))
    own = text_item("developer", "You are an agent")
    known = [msgspec.json.encode({**item, "id": f"id-{at}"}) for at, item in enumerate(items)]
    earlier = text_item("user", "again")
    found = inspect_context(thread.state, [own, earlier, *known])
    assert [item.turn_id for item in found] == [None, None, *["turn-2"] * 5]
    assert [item.short_id for item in found[2:]] == ["m2.1", "m2.2", "m2.2", "m2.2", "m2.3"]
    assert found[2].entry_id == "turn-2/user/again"
    assert found[2].protected == "newest"


def test_a_summary_is_found_but_belongs_to_no_turn() -> None:
    thread = started(turns=2)
    thread.compact("in short")
    [found] = inspect_context(thread.state, conversation_items(thread.state))
    assert (found.item_class, found.turn_id, found.short_id) == (ItemClass.SUMMARY, None, None)


def test_without_a_file_of_codex_the_items_are_those_that_the_session_was_given() -> None:
    thread = started(turns=2)
    thread.clear(1)
    thread.turn()
    items = conversation_items(thread.state)
    assert len(items) == 4
    thread.compact(None)
    assert conversation_items(thread.state) == []


def test_codex_sends_no_result_without_its_call_and_no_call_without_a_result() -> None:
    lone, asked = msgspec.json.encode(output("x")), msgspec.json.encode(call("y"))
    answered = [msgspec.json.encode(call("z")), msgspec.json.encode(output("z"))]
    aborted = raw(type="function_call_output", call_id="y", output="aborted")
    said = msgspec.json.encode(message("user", "one?"))
    assert as_sent([said, lone, asked, *answered]) == [said, asked, aborted, *answered]


def test_items_of_the_same_words_are_found_again_in_their_order() -> None:
    thread = started()
    thread.turn("same", "b")
    thread.turn("same", "c")
    sent = conversation_items(thread.state)[:2]
    found = inspect_context(thread.state, sent)
    assert [item.turn_id for item in found] == ["turn-1", "turn-1"]


def measured(used: int, *, prompts: int = 2, policy: Policy = WINDOW) -> Conversation:
    """Returns a thread with large prompts whose context was measured last."""
    thread = started(policy=policy)
    turn_id = thread.begin_turn()
    thread.report(ev.UsageReported(turn_id, 20, 20, 1_000, 15, 0, 5, 0))
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    for _ in range(prompts):
        thread.turn("word " * 60)
    report(thread, used)
    return thread


def report(thread: Conversation, used: int) -> None:
    turn_id = thread.begin_turn()
    thread.report(ev.UsageReported(turn_id, used, 20 + used, 1_000, used - 5, 0, 5, 0))
    thread.report(ev.TurnCompleted(turn_id, "completed"))


def test_the_sums_are_those_of_the_meter() -> None:
    thread = measured(750)
    sent = [text_item("developer", "You are an agent"), *conversation_items(thread.state)]
    found = inspection(thread.state, WINDOW, sent, predicted=False)
    assert (found.used_tokens, found.estimated, found.level) == (750, False, "warning")
    assert found.estimated_tokens + found.overhead_tokens == 750
    assert sum(total.est_tokens for total in found.totals) == found.estimated_tokens
    assert sum(total.count for total in found.totals) == len(found.items)
    assert found.items[0].share == round(found.items[0].est_tokens / 1_000, 4)
    assert found.note is None


def test_the_note_says_which_items_are_not_known_yet() -> None:
    thread = started(turns=1)
    assert str(inspection(started().state, Policy(), [], predicted=False).note).startswith(UNKNOWN)
    thread.clear()
    found = inspection(thread.state, Policy(), [text_item("developer", "You are")], predicted=True)
    assert str(found.note).startswith(PREDICTED)
    assert (found.window_tokens, found.items[0].share) == (None, None)


def test_in_chat_it_is_a_bar_for_each_class_and_the_largest_items() -> None:
    thread = measured(750)
    sent = [text_item("developer", "word " * 40), *conversation_items(thread.state)]
    found = inspection(thread.state, WINDOW, sent, predicted=False)
    lines = inspection_text(found, trim_advice(thread.state, WINDOW, 0)).splitlines()
    assert lines[0] == "Context: 750 of 1,000 tokens (75%)."
    assert lines[1].split()[0] == "instructions"
    assert any(line.strip().startswith("tools, rest") for line in lines)
    assert "The 5 largest:" in lines
    # What holds parts of several classes says how much of each, as the bars count them.
    mixed = msgspec.structs.replace(found.items[0], parts={"skills": 471, "toolResult": 861})
    shown = msgspec.structs.replace(found, items=[mixed])
    assert "tool result 861, skills 471: " in inspection_text(shown, NO_ADVICE)
    assert any(line.startswith("/clear ") for line in lines)
    nothing = inspection(started().state, Policy(), [], predicted=False)
    assert inspection_text(nothing, NO_ADVICE).splitlines()[0] == "Context: about 0 tokens."


def test_there_is_no_advice_while_there_is_room_or_the_window_is_unknown() -> None:
    assert trim_advice(measured(100).state, WINDOW, 0).advice == []
    assert trim_advice(started(turns=3).state, Policy(), 0).advice == []


def test_advice_keeps_as_many_turns_as_are_comfortable() -> None:
    thread = measured(950, prompts=8)
    advice = trim_advice(thread.state, WINDOW, 0)
    assert advice.level == "critical"
    clear, compact = advice.advice
    assert compact.command == "/compact --keep 3"
    assert (compact.frees_tokens, compact.percent) == (None, None)
    assert clear.after_tokens is not None
    assert clear.after_tokens <= 350
    assert clear.after_tokens > 200
    thread.clear(int(clear.command.removeprefix("/clear ")))
    assert context_size(thread.state, WINDOW).used == clear.after_tokens


def test_advice_says_what_a_trim_of_a_large_context_costs() -> None:
    policy = msgspec.structs.replace(WINDOW, model_windows={})
    thread = started(policy=policy)
    for _ in range(3):
        thread.turn("word " * 20_000)
    turn_id = thread.begin_turn()
    thread.report(ev.UsageReported(turn_id, 95_000, 95_000, 100_000, 94_990, 90_000, 10, 0))
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    clear = trim_advice(thread.state, policy, 0).advice[0]
    assert clear.command.startswith("/clear ")
    assert "The next call reads about" in clear.effect
    assert clear.text == f"{clear.command} {clear.effect}"


def test_no_trim_is_advised_when_instructions_alone_fill_the_window() -> None:
    thread = started(policy=WINDOW)
    report(thread, 950)
    thread.clear(0)
    advice = trim_advice(thread.state, WINDOW, 0)
    assert advice.level == "critical"
    assert advice.advice == []


def test_a_trim_that_frees_next_to_nothing_is_not_advised() -> None:
    thread = measured(100, prompts=0)
    thread.turn("word " * 700)
    turn_id = thread.state.turns[-1].id
    thread.report(ev.UsageReported(turn_id, 700, 720, 1_000, 695, 0, 5, 0))
    # What a summary frees is not known before it is written.
    advised = [one.command for one in trim_advice(thread.state, WINDOW, 0).advice]
    assert advised == ["/compact --keep 2"]


def test_a_compression_that_frees_enough_is_advised() -> None:
    policy = msgspec.structs.replace(
        WINDOW, discard=msgspec.structs.replace(WINDOW.discard, floor_tokens=1, target_tokens=50)
    )
    thread = measured(100, prompts=0, policy=policy)
    items = [message("user", "a"), call("a", "cat x"), output("a", "word " * 400)]
    thread.turn("a", "b", items=map(msgspec.json.encode, [*items, message("assistant", "b")]))
    report(thread, 750)
    commands = [one.command for one in trim_advice(thread.state, policy, 0).advice]
    assert "/compress" in commands
