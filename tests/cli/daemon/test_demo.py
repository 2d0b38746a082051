"""`trimpoint demo`: its claims are checked, and it leaves nothing behind."""

import os

import pytest
from trimpoint.demo.model_input import compared
from trimpoint.demo.proof import Proof
from trimpoint.demo.script import OPENING, SUMMARY, Line
from trimpoint.testkit import ModelRequest

from tests.cli.stage import CODEX, CliHarness


@pytest.mark.codex
async def test_the_demo_shows_on_one_screen_what_left_and_came_back(stage: CliHarness) -> None:
    cache, temporary = stage.codex_home / "cache", stage.folder / "temporary"
    temporary.mkdir()
    done = await stage.run(
        "demo",
        "--plain",
        "--codex",
        str(CODEX),
        COLUMNS="80",
        TMPDIR=str(temporary),
        XDG_CACHE_HOME=str(cache),
    )
    assert done.code == 0, done.out + done.err
    assert "✓ Pruned text in the model's input: none; kept text missing: none." in done.out
    lines = done.out.splitlines()
    # The prompt of the shell has the last of 24 lines.
    assert (len(lines) <= 23, max(map(len, lines)) <= 80) == (True, True), done.out
    assert [line for line in lines if line.startswith("❯ /")] == [
        "❯ /pin 2",
        "❯ /clear 2",
        "❯ /undo",
    ]
    [first] = [line for line in lines if OPENING[0].prompt in line]
    [last] = [line for line in lines if OPENING[-1].prompt in line]
    assert [first.split()[:3], last.split()[:3]] == [["●", "✂", "●"], ["●", "●", "●"]]
    assert lines.index(first) < lines.index(last)
    [sizes] = [line.split() for line in lines if "tokens, with" in line]
    full, cleared, undone = (int(size.replace(",", "")) for size in sizes[:3])
    assert cleared < full < undone < full + 300
    assert "\x1b" not in done.out + done.err
    assert os.listdir(temporary) == []
    assert os.listdir(cache / "trimpoint-testkit") == []


@pytest.mark.codex
async def test_all_of_it_as_json_is_one_document(stage: CliHarness) -> None:
    done = await stage.run(
        "demo",
        "--json",
        "--all",
        "--codex",
        str(CODEX),
        XDG_CACHE_HOME=str(stage.codex_home / "cache"),
    )
    document = done.json()
    assert "error" not in document, document
    assert (done.code, document["ok"], document["prunedTextFound"], done.err) == (0, True, [], "")
    assert [step["command"] for step in document["steps"]] == [
        "/clear 2", "/undo", "/compact", "/new"
    ]  # fmt: skip
    kept = [
        row["text"] for row in document["steps"][0]["modelInput"] if row["before"] and row["after"]
    ]
    assert kept[:3] == [OPENING[1].prompt, OPENING[1].answer, OPENING[-2].prompt]
    assert OPENING[0].prompt not in kept
    after_undo = [row["text"] for row in document["steps"][1]["modelInput"] if row["after"]]
    assert after_undo.index(OPENING[0].prompt) < after_undo.index(OPENING[-1].prompt)


@pytest.mark.processes
async def test_without_a_place_for_a_codex_home_it_says_so(stage: CliHarness) -> None:
    done = await stage.run(
        "demo", "--codex", str(CODEX), XDG_CACHE_HOME=str(stage.folder), TMPDIR=str(stage.folder)
    )
    assert (
        done.code,
        "set XDG_CACHE_HOME to a folder elsewhere" in " ".join(done.err.split()),
        "Traceback" in done.err,
    ) == (
        1,
        True,
        False,
    )


def request(*texts: str, compacts: bool = False) -> ModelRequest:
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in texts
    ]
    trigger = [{"type": "compaction_trigger"}] if compacts else []
    return ModelRequest({"input": [*items, *trigger]}, {})


OLD, KEPT = (
    Line("old prompt", "old answer", (), ("old output",)),
    Line("kept prompt", "kept answer"),
)


@pytest.mark.parametrize("leak", ["old prompt", "old answer", "… old output …"])
def test_the_proof_finds_any_pruned_text_in_any_later_request(leak: str) -> None:
    requests = [request("old prompt", "old answer", "old output")]
    proof = Proof(requests)
    proof.trimmed(pruned=[OLD], kept=[KEPT], summary=None)
    requests.append(request("kept prompt", "kept answer"))
    assert proof.findings(file_is_right=True).are_good
    requests.append(request(leak, compacts=True))
    findings = proof.findings(file_is_right=True)
    assert (findings.are_good, len(findings.leaked)) == (False, 1)


def test_proof_expects_texts_again_that_were_undone_or_looked_up() -> None:
    requests = [request("old prompt")]
    proof = Proof(requests)
    proof.trimmed(pruned=[OLD], kept=[], summary=None)
    requests.append(request("new prompt"))
    proof.seen_again()
    proof.looked_up("old output")
    assert proof.findings(file_is_right=True).missing == ["old output"]
    requests.append(request("old prompt", "old output"))
    assert proof.findings(file_is_right=True).are_good


def test_the_proof_misses_what_was_kept_and_is_not_there() -> None:
    requests = [request("anything")]
    proof = Proof(requests)
    proof.trimmed(pruned=[OLD], kept=[KEPT], summary=SUMMARY)
    assert proof.findings(file_is_right=True).missing == ["kept prompt", "kept answer", SUMMARY]
    requests.append(request("kept prompt", SUMMARY))
    assert proof.findings(file_is_right=True).missing == ["kept answer"]
    requests[-1] = request("kept prompt", "kept answer", SUMMARY)
    assert proof.findings(file_is_right=True).are_good
    assert not proof.findings(file_is_right=False).are_good


def test_a_proof_of_nothing_is_no_proof() -> None:
    assert not Proof([]).findings(file_is_right=True).are_good


def test_of_two_equal_items_the_later_one_counts_as_kept() -> None:
    def item(text: str) -> dict[str, object]:
        return {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": text}],
        }

    before = [item("same"), item("a"), item("same")]
    rows = compared((before, "b"), ([item("same"), item("new")], ""), ([*before, item("new")], ""))
    assert [(row.text, *row.seen) for row in rows] == [
        ("same", "sent", "", "sent"),
        ("a", "sent", "", "sent"),
        ("same", "sent", "sent", "sent"),
        ("b", "answer", "", ""),
        ("new", "", "sent", "sent"),
    ]
