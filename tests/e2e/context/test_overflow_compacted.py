"""Overflow of a context that Codex itself has compacted."""

import pytest
from trimpoint.testkit import (
    overflow,
    run,
    say,
)

from tests.e2e.conftest import Harness
from tests.e2e.context.overflowing import (
    long_talk,
)
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex


async def test_recovery_summarizes_codexs_own_compaction(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk, 3)
        talk.script.then(overflow())  # too short to be rescued
        assert (await talk.prompt("failed"))["status"] == "failed"
        talk.script.at_compaction(say("Codex's own gist."))
        await long_talk(talk, 4)
        talk.script.then(run("echo one"), overflow(), say("It fits."))
        turn = await talk.prompt("too much")
        last = await talk.turn()
    assert turn["status"] == "completed"
    compaction = [
        request for request in harness.model.requests if request.kind == "inline_compaction"
    ][-1]
    summarized = pieces(compaction.input[:-1])
    assert [piece.text for piece in summarized[:4]] == [
        "prompt-1.",
        "prompt-2.",
        "prompt-3.",
        "failed",
    ]
    assert summarized[4].text.endswith("Codex's own gist.")
    assert "answer-1." not in [piece.text for piece in summarized]
    shown = pieces(last.input)
    assert (
        shown[0].kind,
        shown.count(Piece("user", "too much")),
        shown.count(Piece("output", "one")),
    ) == ("summary", 1, 1)
    assert not last.mentions("prompt-1.")


async def test_recovery_summarizes_a_sealed_compaction_of_codex(sealed_harness: Harness) -> None:
    async with sealed_harness.conversation() as talk:
        await long_talk(talk, 3)
        talk.script.then(overflow())
        assert (await talk.prompt("failed"))["status"] == "failed"
        await long_talk(talk, 6)
        talk.script.then(overflow(), say("The readable gist."), say("It fits."))
        turn = await talk.prompt("too much")
        last = await talk.turn()
    assert turn["status"] == "completed"
    compaction = [
        request for request in sealed_harness.model.requests if request.kind == "remote_compaction"
    ][-1]
    assert compaction.mentions("SEALED")
    assert last.mentions("The readable gist.")
    assert not last.mentions("SEALED")


async def test_a_turn_that_codex_began_with_a_compaction_is_rescued_too(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await long_talk(talk, 3)
        talk.script.then(overflow())
        assert (await talk.prompt("failed"))["status"] == "failed"
        talk.script.at_compaction(say("Codex's own gist."))
        steps = [say("Looking.") + run("echo one") for _ in range(6)]
        talk.script.then(*steps, overflow(), say("It fits."))
        turn = await talk.prompt("too much")
        last = await talk.turn()
    assert turn["status"] == "completed"
    shown = pieces(last.input)
    assert (shown[0].kind, shown.count(Piece("user", "too much"))) == ("summary", 1)
    assert shown.index(Piece("user", "too much")) == shown.index(Piece("assistant", "It fits.")) - 1
