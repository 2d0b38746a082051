"""Sessions of other programs continue in a real Codex thread: the model's next input holds their
live window.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.cli.connection.client import Client, RemoteError
from trimpoint.testkit import ModelRequest
from trimpoint_protocol import unified as u

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.sessionlogs.model_inputs import AROUND, WORDS, inputs_of, requests_of
from tests.sessionlogs.sessions import FIXTURES, THREAD, meta, row, said, sessions_in, write_rollout

HOMES = {
    "codex": FIXTURES / "codex-0.171.0" / "compacted-by-hand",
    "claude": FIXTURES / "claude-code-2.1.197" / "compacted-by-hand",
    "gemini": FIXTURES / "gemini-cli-0.61.0" / "resumed",
}


def shown(request: ModelRequest) -> list[str]:
    """Returns the texts of the model's input, without Codex's preamble."""
    found = []
    for item in request.body["input"]:
        if item["type"] == "message" and item["role"] != "developer":
            text = "".join(part.get("text", "") for part in item["content"])
            if not text.startswith("<environment_context>"):
                found.append(text)
        elif item["type"] == "function_call" and item["call_id"].startswith("carried_"):
            continue  # made for an output that had no call
        elif item["type"] != "message":
            found.append(item["type"])
    return found


def place_of(harness: Harness, agent: str) -> Path:
    places = {
        "codex": harness.codex_home,
        "claude": harness.home / ".claude",
        "gemini": harness.home / ".gemini",
    }
    return places[agent]


def put(harness: Harness, agent: str) -> None:
    shutil.copytree(HOMES[agent], place_of(harness, agent), dirs_exist_ok=True)


async def continued(harness: Harness, client: Client, agent: str, **more: Any) -> dict[str, Any]:
    listed = await client.request("sessions/list", agent=agent)
    [session] = [one for one in listed["sessions"] if one["agent"] == agent]
    answer = await client.request(
        "sessions/continue", sessionId=session["id"], cwd=str(harness.worktree), **more
    )
    assert answer["turns"] > 0
    return dict(answer)


async def next_input(
    harness: Harness,
    client: Client,
    thread_id: str,
    words: Callable[[ModelRequest], list[str]] = shown,
) -> list[str]:
    before = len(harness.model.turn_requests())
    prompt = [{"type": "text", "text": "go on"}]
    await client.request("turn/start", threadId=thread_id, input=prompt)
    with anyio.fail_after(STEP_S):
        await harness.model.wait_for_request(
            lambda one: one in harness.model.turn_requests()[before:]
        )
    return words(harness.model.turn_requests()[before])


SUMMARY = "<conversation-summary messages={}>SUMMARY</conversation-summary>"
LIVE = {
    "codex": ["first", "second", "third", "fourth", SUMMARY.format(1), "fifth", "reply 6"],
    "claude": [
        SUMMARY.format(8).replace("SUMMARY", "reply 6"),
        "reply 5",
        "No response requested.",
        "fourth",
        "reply 7",
    ],
    "gemini": [
        "first",
        "reply 2",
        "BIG second",
        "reply 4",
        "third",
        "reply 6",
        "fourth",
        "reply 8",
    ],
}


@pytest.mark.parametrize("agent", HOMES)
async def test_the_models_next_input_holds_the_live_window(harness: Harness, agent: str) -> None:
    put(harness, agent)
    async with harness.daemon(), harness.client() as client:
        answer = await continued(harness, client, agent)
        sent = await next_input(harness, client, answer["threadId"])
    assert sent == [*LIVE[agent], "go on"]


SCENES = {
    "codex": (
        "codex-0.171.0",
        ["compacted-by-hand-sealed", "compacted-within-a-turn", "compressed", "forked",
         "forked-twice", "given-a-summary-sealed", "migrated", "reverted-behind-a-compaction",
         "reverted-to-the-beginning", "with-a-summary-of-another-version",
         "with-sub-agents"],
    ),
    "claude": (
        "claude-code-2.1.332",
        ["branched", "branched-behind-a-kept-beginning", "cleared", "compacted-automatically",
         "compacted-from-here", "compacted-up-to-here", "forked", "queued", "rewound",
         "rewound-behind-a-compaction", "torn-within-a-summary", "with-a-sub-agent"],
    ),
    "gemini": (
        "gemini-cli-0.61.0",
        ["compressed", "compressed-twice", "resumed-and-compressed", "resumed-twice", "rewound",
         "saved-and-resumed"],
    ),
}  # fmt: skip
SUMMARIES = (
    "<conversation-summary",
    "This session is being continued",
    "<state_snapshot>",
    "SUMMARY:",
    "Another language model started",
    "[An encrypted summary",
)


def in_words(texts: list[str]) -> list[str]:
    """Returns the texts in shortened form, each summary as one word, and without the texts that
    programs add.
    """
    worded = ["SUMMARY" if text.startswith(SUMMARIES) else text.strip()[:WORDS] for text in texts]
    return [text for text in worded if text and not text.startswith((*AROUND, "[image"))]


def sent_in_words(request: ModelRequest) -> list[str]:
    """Returns the input of a model request in shortened form."""
    found: list[str] = []
    for item in request.body["input"]:
        if item["type"] == "message" and item["role"] != "developer":
            text = "".join(part.get("text", "") for part in item["content"])
            found += [] if text.startswith("<environment_context>") else [text]
        elif item["type"] == "function_call" and item["call_id"].startswith("carried_"):
            continue  # made for an output that had no call
        elif item["type"] != "message":
            found.append(
                item["output"] if "output" in item else json.dumps(json.loads(item["arguments"]))
            )
    return in_words(found)


def original_windows(scene: Path) -> list[list[str]]:
    """Returns each input that the original program sent to its model, in shortened form."""
    if scene.parent.name.startswith("codex"):
        return [in_words(one) for one in inputs_of(scene)]
    return [in_words(one) for one in requests_of(scene)]


@pytest.mark.parametrize("agent", SCENES)
async def test_each_session_continues_with_the_window_that_its_own_model_was_sent(
    harness: Harness, agent: str
) -> None:
    version, names = SCENES[agent]
    scenes = {
        session.id: FIXTURES / version / name
        for name in names
        for session in sessions_in(FIXTURES / version / name)
    }
    for scene in set(scenes.values()):
        shutil.copytree(scene, place_of(harness, agent), dirs_exist_ok=True)
    async with harness.daemon(), harness.client() as client:
        for session_id, scene in scenes.items():
            answer = await client.request(
                "sessions/continue", sessionId=session_id, agent=agent, cwd=str(harness.worktree)
            )
            *before, newest, prompt = await next_input(
                harness, client, answer["threadId"], sent_in_words
            )
            assert prompt == "go on"
            assert newest.startswith("reply")
            assert before in original_windows(scene), scene


async def test_the_last_turns_alone_can_be_carried_over(harness: Harness) -> None:
    put(harness, "gemini")
    async with harness.daemon(), harness.client() as client:
        answer = await continued(harness, client, "gemini", last=1)
        sent = await next_input(harness, client, answer["threadId"])
    assert sent == ["fourth", "reply 8", "go on"]
    assert any("before the last turn, as asked" in line for line in answer["leftOut"])


async def test_a_continued_session_can_be_compacted_at_once(harness: Harness) -> None:
    put(harness, "gemini")
    harness.script.summary = "of all"
    async with harness.daemon(), harness.client() as client:
        answer = await continued(harness, client, "gemini", compact=True)
        sent = await next_input(harness, client, answer["threadId"])
    assert sent == ["<conversation-summary messages=8>of all</conversation-summary>", "go on"]


async def test_continue_reports_what_it_leaves_out_and_a_huge_session_fits(
    harness: Harness,
) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    look = said("user", "look at this")
    look["payload"]["content"].append(image)
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "sealed"}
    turns = [
        one for n in range(900) for one in (said("user", f"p{n} " * 400), said("assistant", "a"))
    ]
    rows = [meta(1), *turns, look, row("response_item", thought), row("response_item", call)]
    write_rollout(harness.codex_home, 1, [*rows, said("assistant", "that is all")])
    async with harness.daemon(), harness.client() as client:
        answer = await client.request(
            "sessions/continue", sessionId=f"{THREAD}1", cwd=str(harness.worktree)
        )
        first, *_, looked, called, last, prompt = await next_input(
            harness, client, answer["threadId"]
        )
    assert first.endswith("earlier items of this conversation were left out.]")
    assert (looked, last, prompt) == ("look at this\n[image left out]", "that is all", "go on")
    assert called == "[Called shell: {}. There is no result.]"
    assert answer["estTokens"] <= 150_000
    assert any("reasoning" in line for line in answer["leftOut"])


CUSTOM_INPUTS = ("const p = await tools.look();", '{"like": "an object"}')


async def test_custom_calls_of_codex_continue_in_their_own_form(harness: Harness) -> None:
    calls = [
        row("response_item", {"type": "custom_tool_call", "status": "completed", "name": "exec",
                              "call_id": f"c{n}", "input": text})
        for n, text in enumerate(CUSTOM_INPUTS)
    ]  # fmt: skip
    outputs = [
        row("response_item", {"type": "custom_tool_call_output", "call_id": f"c{n}",
                              "output": [{"type": "input_text", "text": "You must deploy."}]})
        for n in range(len(CUSTOM_INPUTS))
    ]  # fmt: skip
    before = [said("user", "before"), said("assistant", "answered")]
    turn = [said("user", "look"), *calls, *outputs, said("assistant", "done")]
    write_rollout(harness.codex_home, 1, [meta(1), *before, *turn])
    async with harness.daemon(), harness.client() as client:
        answer = await client.request(
            "sessions/continue", sessionId=f"{THREAD}1", cwd=str(harness.worktree)
        )
        thread_id = answer["threadId"]
        cleared = await client.request("commands/execute", threadId=thread_id, text="/clear 1")
        await next_input(harness, client, thread_id)
    assert (answer["leftOut"], cleared["status"]) == ([], "completed")
    [request] = harness.model.turn_requests()
    sent = [one for one in request.body["input"] if one["type"].startswith("custom_")]
    assert [one.get("input") for one in sent] == [*CUSTOM_INPUTS, None, None]
    assert [one.get("output") for one in sent] == [None, None, *["You must deploy."] * 2]
    users = [one for one in request.body["input"] if one.get("role") == "user"]
    assert "deploy" not in json.dumps(users)


async def test_a_continued_session_outlives_the_daemon_and_is_in_its_timeline(
    harness: Harness,
) -> None:
    put(harness, "claude")
    async with harness.daemon(), harness.client() as client:
        thread_id = (await continued(harness, client, "claude"))["threadId"]
    async with harness.daemon(), harness.client() as client:
        page = await client.request("timeline/read", threadId=thread_id)
        texts = [entry["text"] for entry in page["entries"] if entry["kind"] == "message"]
        assert texts[-2:] == ["fourth", "reply 7"]
        sent = await next_input(harness, client, thread_id)
        snapshot = await client.request("orchestration/snapshot", threadId=thread_id)
    assert sent == [*LIVE["claude"], "go on"]
    assert snapshot["thread"]["turnCount"] == 3


async def test_a_continued_session_can_be_cleared_to_its_last_turns(harness: Harness) -> None:
    put(harness, "gemini")
    async with harness.daemon(), harness.client() as client:
        thread_id = (await continued(harness, client, "gemini"))["threadId"]
        outcome = await client.request("commands/execute", threadId=thread_id, text="/clear 1")
        assert outcome["status"] == "completed"
        sent = await next_input(harness, client, thread_id)
    assert sent == ["fourth", "reply 8", "go on"]


async def test_a_log_does_not_choose_the_folder_in_which_the_agent_may_write(
    harness: Harness,
) -> None:
    put(harness, "codex")
    async with harness.daemon(), harness.client() as client:
        [session] = (await client.request("sessions/list", agent="codex"))["sessions"]
        with pytest.raises(RemoteError, match="The session says that it worked in"):
            await client.request("sessions/continue", sessionId=session["id"], agent="codex")


async def test_a_session_that_is_not_there_is_refused(harness: Harness) -> None:
    async with harness.daemon(), harness.client() as client:
        with pytest.raises(Exception, match="no session"):
            await client.request("sessions/continue", sessionId="nothing")


async def test_a_time_that_is_none_is_refused(harness: Harness) -> None:
    async with harness.daemon(), harness.client() as client:
        with pytest.raises(Exception, match="since is not a time"):
            await client.request("sessions/list", since="yesterday")
        assert await client.request("sessions/list", since="2026-01-01T00:00:00Z")


async def test_pages_of_a_session_are_its_export(harness: Harness) -> None:
    put(harness, "codex")
    async with harness.daemon(), harness.client() as client:
        [one] = (await client.request("sessions/list"))["sessions"]
        exported = await client.request(
            "sessions/export", sessionId=one["id"], includeCompacted=True
        )
        records: list[Any] = []
        cursor = None
        while True:
            page = await client.request(
                "sessions/read", sessionId=one["id"], includeCompacted=True, limit=5, cursor=cursor
            )
            records += page["records"]
            if (cursor := page["nextCursor"]) is None:
                break
    assert len(records) == len(exported["content"].splitlines())
    assert (records[0]["type"], records[-1]["type"]) == ("session", "end")


async def test_the_log_that_codex_wrote_of_a_thread_is_had_by_its_agent(harness: Harness) -> None:
    async with harness.conversation() as talk:
        prompt = shown(await talk.turn())[-1]
        named = {"sessionId": talk.thread_id, "agent": "codex"}
        exported = await talk.client.request("sessions/export", **named)
        page = await talk.client.request("sessions/read", **named)
    assert prompt in exported["content"]
    assert page["records"][0]["type"] == "session"


async def test_threads_of_trimpoints_are_listed_beside_sessions(harness: Harness) -> None:
    put(harness, "claude")
    async with harness.daemon(), harness.client() as client:
        thread_id = (await continued(harness, client, "claude"))["threadId"]
        listed = (await client.request("sessions/list"))["sessions"]
        assert {one["agent"] for one in listed} >= {"trimpoint", "claude"}
        with pytest.raises(Exception, match="is a thread of trimpoint"):
            await client.request("sessions/read", sessionId=thread_id)
        named = {"sessionId": thread_id[-8:], "format": "unified-json"}
        exported = await client.request("sessions/export", **named)
        whole = msgspec.json.decode(exported["content"], type=u.Document)
        assert whole.messages[-1].text == "reply 7"
        for form in ("unified", "markdown"):
            own = await client.request("sessions/export", sessionId=thread_id, format=form)
            assert own == await client.request("session/export", threadId=thread_id, format=form)
            assert "reply 7" in own["content"]


@pytest.mark.parametrize("form", ["unified", "unified-json", "markdown", "html"])
async def test_the_command_exports_threads_of_trimpoints(harness: Harness, form: str) -> None:
    put(harness, "claude")
    async with harness.daemon(), harness.client() as client:
        thread_id = (await continued(harness, client, "claude"))["threadId"]
        words = ["sessions", "export", thread_id[-8:], "--agent", "trimpoint", "--format", form]
        done = await anyio.run_process(
            [sys.executable, "-m", "trimpoint", *words, "--socket", str(harness.socket)]
        )
    assert b"reply 7" in done.stdout


def test_fixtures_are_there() -> None:
    assert all(Path(home).is_dir() for home in HOMES.values())
