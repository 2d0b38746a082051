"""Codex's messages are translated into ACP's and back, by tables."""

from pathlib import Path
from typing import Any

import pytest
from trimpoint.acp.connection.daemon import DaemonLink, DaemonMissing
from trimpoint.acp.translate import prompts, settings, status
from trimpoint.acp.translate.commands import command_name, without_alias
from trimpoint.acp.translate.diffs import no_file
from trimpoint.acp.translate.endings import Ended, Failed, ending_of
from trimpoint.acp.translate.forms import questions_answer, questions_form
from trimpoint.acp.translate.history import replayed
from trimpoint.acp.translate.mcp import BadServer, mcp_config
from trimpoint.acp.translate.status import meter_text, notice_of, usage_of
from trimpoint.acp.translate.turn_choice import unnamed
from trimpoint.acp.translate.turns import TurnTranslator
from trimpoint.acp.wire.capabilities import Capabilities, capabilities_in

from tests.acp.json_values import Json, as_json


@pytest.mark.parametrize(
    ("turn", "cancelled", "ended"),
    [
        ({"status": "completed"}, False, Ended("end_turn")),
        ({"status": "completed"}, True, Ended("cancelled")),
        (
            {"status": "interrupted", "error": {"message": "Why."}},
            False,
            Ended("cancelled", "Why."),
        ),
        (
            {"status": "failed", "error": {"message": "No.", "codexErrorInfo": "cyberPolicy"}},
            False,
            Ended("refusal", "No."),
        ),
        ({"status": "failed", "error": {"message": "No."}}, False, Failed(-32603, "No.", "other")),
    ],
)
def test_a_turn_ends_as_codex_says(turn: Json, cancelled: bool, ended: object) -> None:
    assert ending_of(turn, is_cancelled=cancelled) == ended


@pytest.mark.parametrize(
    ("info", "code", "says"),
    [("contextWindowExceeded", -32603, "/clear 3"), ("unauthorized", -32000, "Log in")],
)
def test_a_failure_says_what_to_do(info: str, code: int, says: str) -> None:
    failed = ending_of({"status": "failed", "error": {"codexErrorInfo": info}}, is_cancelled=False)
    assert isinstance(failed, Failed)
    assert failed.code == code
    assert says in failed.message


def test_questions_are_a_form_where_the_editor_has_forms() -> None:
    questions = {
        "questions": [{"id": "q", "header": "H", "question": "Which?", "options": [{"label": "a"}]}]
    }
    assert questions_form(questions, Capabilities()) is None
    form = questions_form(questions, Capabilities(form=True))
    assert form is not None
    assert form.params["requestedSchema"]["properties"]["q"]["oneOf"] == [
        {"const": "a", "title": "a"}
    ]
    assert questions_answer("accept", {"q": "a"}) == {"answers": {"q": {"answers": ["a"]}}}
    assert questions_answer("decline", {"q": "a"}) == {"answers": {}}


def test_a_session_begins_in_the_mode_that_is_configured() -> None:
    own = settings.Settings({"type": "workspaceWrite"}, {"granular": {}}, "m", None, "/")
    now = own._replace(approval="never", sandbox={"type": "dangerFullAccess"})
    assert settings.modes(own, own).available_modes[0].id == settings.CONFIGURED
    assert settings.modes(now, own).current_mode_id == "full-access"
    assert settings.mode_update("configured", own)["approvalPolicy"] == {"granular": {}}
    with pytest.raises(settings.BadChoice):
        settings.mode_update("configured", now)


def test_an_effort_that_a_model_has_not_is_replaced_with_the_model() -> None:
    rows = [
        {
            "model": name,
            "supportedReasoningEfforts": [{"reasoningEffort": one} for one in efforts],
            "defaultReasoningEffort": efforts[0],
        }
        for name, efforts in (("a", ["low", "high"]), ("b", ["medium"]))
    ]
    models = settings.models_in([{"data": rows}])
    now = settings.Settings({}, "never", "a", "high", "/")
    assert settings.option_update("model", "b", now, now, models) == {
        "model": "b",
        "effort": "medium",
    }
    assert settings.option_update("reasoning_effort", "low", now, now, models) == {"effort": "low"}
    unknown = [one.current_value for one in settings.options(now._replace(model="c"), now, models)]
    assert unknown[1:] == ["c", "high"]


def test_mcp_servers_have_safe_names_and_all_that_they_need() -> None:
    stdio = {
        "name": "my server",
        "command": "/s",
        "args": ["-v"],
        "env": [{"name": "A", "value": "1"}],
    }
    http = {
        "type": "http",
        "name": "my_server",
        "url": "http://x",
        "headers": [{"name": "H", "value": "v"}],
    }
    assert mcp_config([stdio, http]) == {
        "mcp_servers.my_server": {
            "command": "/s",
            "args": ["-v"],
            "enabled": True,
            "env": {"A": "1"},
        },
        "mcp_servers.my_server_": {"url": "http://x", "enabled": True, "http_headers": {"H": "v"}},
    }
    with pytest.raises(BadServer):
        mcp_config([{"type": "acp", "name": "x"}])


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        ("/trim 2", "trim", "/clear 2"),
        (":trim", "trim", ":clear"),
        ("/Clear 2", "clear", "/Clear 2"),
        ("/etc/hosts", None, "/etc/hosts"),
        ("trim", None, "trim"),
    ],
)
def test_a_command_is_known_by_its_name(text: str, name: str | None, meant: str) -> None:
    assert command_name(text) == name
    assert without_alias(text) == meant


def test_a_meter_without_a_window_is_not_sent() -> None:
    assert usage_of({"usedTokens": 5, "windowTokens": None}) is None
    assert usage_of({}) is None
    assert meter_text({}) == "not known yet"
    assert meter_text({"usedTokens": 5}) == "5 tokens; the size of the window is not known yet"
    meter = {"usedTokens": 1_850, "windowTokens": 2_000, "percent": 92.5, "leftPercent": 99}
    assert meter_text(meter) == "1,850 of 2,000 tokens (93%)"
    more = {**meter, "cachedPercent": 96.6, "auto": {"state": "on", "mode": "mask"}}
    cached = "97% of the last call came from the provider's cache"
    assert meter_text(more) == f"1,850 of 2,000 tokens (93%); {cached}; automatic: mask"
    usage = usage_of({"usedTokens": 5, "windowTokens": 10, "level": "ok"})
    assert usage is not None
    assert (usage.used, usage.size) == (5, 10)


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("warning", {"message": "w"}, "w"),
        ("error", {"willRetry": True, "error": {"message": "again"}}, "again"),
        ("configWarning", {"summary": "s", "details": "d"}, "s\nd"),
        ("windows/worldWritableWarning", {}, "Some folders can be written by everybody."),
        ("model/rerouted", {"fromModel": "a", "toModel": "b"}, "b answers instead of a."),
    ],
)
def test_warnings_of_codex_become_notices(method: str, params: Json, text: str) -> None:
    notice = notice_of(method, params)
    assert notice is not None
    assert notice[1] == text
    assert notice_of("error", {"willRetry": False}) is None


@pytest.mark.parametrize(
    ("offered", "capabilities"),
    [
        (None, Capabilities()),
        (
            {"session": {"notices": {}}, "auth": {"terminal": True}},
            Capabilities(notices=True, terminal_login=True),
        ),
        ({"_meta": {"terminal_output": True}}, Capabilities(terminal_output=True)),
        ({"elicitation": {"url": {}, "form": None}}, Capabilities(url=True)),
    ],
)
def test_capabilities_of_any_shape_are_read(offered: Any, capabilities: Capabilities) -> None:
    assert capabilities_in(offered) == capabilities


def _turn(*messages: tuple[str, Json], **offered: bool) -> list[Json]:
    turn = TurnTranslator(Capabilities(**offered), no_file)
    updates = [update for method, params in messages for update in turn.read(method, params)]
    return [dict(as_json(one)) for one in [*updates, *turn.closed()]]


def test_reasoning_plans_and_reviews_are_shown_as_what_they_are() -> None:
    shown = _turn(
        ("item/reasoning/summaryTextDelta", {"itemId": "r", "delta": "a"}),
        ("item/reasoning/summaryPartAdded", {"itemId": "r"}),
        ("item/completed", {"item": {"type": "reasoning", "id": "r", "summary": ["a"]}}),
        ("item/completed", {"item": {"type": "reasoning", "id": "s", "summary": ["b", "c"]}}),
        ("turn/plan/updated", {"plan": [{"step": "one", "status": "inProgress"}]}),
        ("item/autoApprovalReview/started", {"reviewId": "v"}),
        ("item/autoApprovalReview/completed", {"reviewId": "v", "review": {"status": "approved"}}),
        ("item/started", {"item": {"type": "enteredReviewMode", "id": "w"}}),
        ("item/completed", {"item": {"type": "exitedReviewMode", "id": "x", "review": "Fine."}}),
        ("nonsense", {}),
    )
    assert [one["sessionUpdate"] for one in shown] == [
        "agent_thought_chunk", "agent_thought_chunk", "agent_thought_chunk", "plan",
        "tool_call", "tool_call_update", "tool_call", "tool_call_update", "agent_message_chunk",
    ]  # fmt: skip
    assert shown[2]["content"]["text"] == "b\n\nc"
    assert shown[3]["entries"] == [
        {"content": "one", "status": "in_progress", "priority": "medium"}
    ]


def test_tool_calls_left_open_end_with_their_turn() -> None:
    command = {
        "type": "commandExecution",
        "id": "c",
        "command": "ls",
        "processId": "1",
        "status": "inProgress",
    }
    shown = _turn(
        ("item/started", {"item": command}),
        ("item/commandExecution/outputDelta", {"itemId": "c", "delta": "out"}),
        ("item/started", {"item": {"type": "contextCompaction", "id": "k"}}),
        compaction=True,
    )
    assert [(one["sessionUpdate"], one.get("status")) for one in shown] == [
        ("tool_call", "in_progress"),
        ("compaction_update", "in_progress"),
        ("tool_call_update", None),
        ("tool_call_update", "failed"),
        ("compaction_update", "cancelled"),
    ]


def test_codexs_own_compaction_is_a_line_where_compactions_are_not_known() -> None:
    item = {"item": {"type": "contextCompaction", "id": "k"}}
    [line] = _turn(("item/started", item), ("item/completed", item))
    assert line["sessionUpdate"] == "agent_thought_chunk"


def test_patches_and_progress_change_an_open_call() -> None:
    change = {"path": "/a", "kind": {"type": "add"}, "diff": "x"}
    shown = _turn(
        (
            "item/started",
            {"item": {"type": "fileChange", "id": "f", "changes": [], "status": "inProgress"}},
        ),
        ("item/fileChange/patchUpdated", {"itemId": "f", "changes": [change]}),
        ("item/fileChange/patchUpdated", {"itemId": "unknown", "changes": [change]}),
        (
            "item/started",
            {
                "item": {
                    "type": "mcpToolCall",
                    "id": "m",
                    "server": "s",
                    "tool": "t",
                    "status": "inProgress",
                }
            },
        ),
        ("item/mcpToolCall/progress", {"itemId": "m", "message": "half"}),
        ("item/completed", {"item": {"type": "webSearch", "id": "never-started", "query": "q"}}),
    )
    assert shown[1]["content"][0]["newText"] == "x"
    assert shown[3]["title"] == "s/t: half"
    assert shown[4]["sessionUpdate"] == "tool_call"


def test_a_history_shows_discards_sealed_summaries_and_old_items() -> None:
    entries: list[Json] = [
        {
            "kind": "message",
            "id": "u",
            "role": "user",
            "text": "Look.",
            "detail": {"content": [{"type": "localImage", "path": "/a.png"}]},
        },
        {
            "kind": "activity",
            "id": "p",
            "activity": "plan",
            "title": "",
            "detail": {"text": "A plan."},
        },
        {"kind": "activity", "id": "x", "activity": "somethingNew", "title": "New", "detail": {}},
        {"kind": "activity", "id": "c", "activity": "contextCompaction", "title": "", "detail": {}},
        {
            "kind": "contextTrimPointDivider",
            "trimPointId": "d",
            "hiddenMessageCount": 1,
            "trimKind": "discard",
        },
        {
            "kind": "contextTrimPointDivider",
            "trimPointId": "e",
            "hiddenMessageCount": 1,
            "trimKind": "boundary",
        },
        {"kind": "unheard-of"},
    ]
    shown = [as_json(one) for one in replayed(entries, Capabilities())]
    assert [one["sessionUpdate"] for one in shown] == [
        "user_message_chunk", "agent_message_chunk", "tool_call", "agent_thought_chunk", "agent_thought_chunk",
    ]  # fmt: skip
    assert shown[0]["content"]["uri"] == "file:///a.png"
    assert shown[3]["content"]["text"] == "── 1 item left the agent's context ──"
    assert (
        shown[4]["content"]["text"] == "── 1 earlier message is no longer in the agent's context ──"
    )


def test_a_prompt_of_blobs_is_taken_as_far_as_it_can_be() -> None:
    image = {
        "type": "resource",
        "resource": {"uri": "file:///a.png", "blob": "eA==", "mimeType": "image/png"},
    }
    other = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "eA=="}}
    assert prompts.input_of([image, other]) == [
        {"type": "image", "url": "data:image/png;base64,eA=="},
        {"type": "text", "text": "[@a.bin](file:///a.bin)"},
    ]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": ""},
        {"type": "text", "text": " \n"},
        {"type": "image", "mimeType": "image/png", "data": "no base64"},
        {"type": "image", "mimeType": "image/png"},
        {"type": "image", "mimeType": "text/plain", "data": "eA=="},
    ],
)
def test_what_no_model_could_read_is_no_prompt(block: dict[str, str]) -> None:
    with pytest.raises(prompts.BadPrompt):
        prompts.input_of([block])


def test_a_title_is_the_name_or_the_first_line_and_short() -> None:
    assert status.title_of("Name", "prompt") == "Name"
    assert status.title_of(None, "\n  first\nsecond") == "first"
    assert status.title_of(None, "") is None
    assert len(status.title_of(None, "x" * 200) or "") == status.MAX_CHARS
    assert status.iso_time(0) == "1970-01-01T00:00:00Z"
    assert status.iso_time(None) is None


@pytest.mark.parametrize("told", [["--force"], None, [], "no list"])
@pytest.mark.parametrize(
    ("text", "switches"),
    [
        ("/clear", ""),
        (":CLEAR --force", " --force"),
        ("/clear 3", None),
        ("/clear --dry-run", None),
    ],
)
def test_a_clear_without_turns_is_asked_about_whether_or_not_the_daemon_tells_which_it_is(
    text: str, switches: str | None, told: object
) -> None:
    listed = {"commands": [{"name": "clear", **({"asksWith": told} if told is not None else {})}]}
    for answer in (listed, {}) if told is None else (listed,):
        found = unnamed(text, answer)
        assert (found and found.switches) == switches


@pytest.mark.parametrize(
    ("running", "is_told"),
    [("0.1.9", True), ("0.2", False), ("1.0", False), (None, False), ("none", False)],
)
async def test_a_daemon_that_is_older_than_the_agent_is_named_once(
    running: str | None, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def status(_link: DaemonLink, _method: str) -> dict[str, str | None]:
        return {"version": running}

    async def nowhere() -> Path:
        raise DaemonMissing

    monkeypatch.setattr(DaemonLink, "request", status)
    link = DaemonLink(nowhere, "0.2")
    said = await link.upgrade()
    assert ("trimpoint daemon shutdown --when-idle" in (said or "")) == is_told
    assert await link.upgrade() is None
