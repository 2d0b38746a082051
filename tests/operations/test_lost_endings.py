"""Turns whose end Codex never reports."""

from trimpoint.core.model.commands import RollBackTurns
from trimpoint.core.model.decision import busy
from trimpoint.operations.provider.lost_endings import EndingLimits

from tests.operations.lives import life_of
from tests.operations.stage import opened_stage


async def test_a_turn_that_the_disk_refused_meanwhile_ends_when_codex_rests() -> None:
    async with opened_stage() as stage:
        stage.operations.lost_endings.limits = EndingLimits(after_rest_s=0.01)
        writer = await stage.thread("T0")
        stage.disk.fill()
        stage.says("thread/name/updated", threadName="new")  # a fact that the disk refuses
        await stage.refusals()
        stage.says("turn/started", turn={"id": "T1", "items": [], "status": "inProgress"})
        stage.says("thread/status/changed", status={"type": "idle"})
        await stage.refusals()
        stage.disk.free()
        await stage.hears("turn/completed")
        assert busy(writer.state) is None
    assert life_of(stage.client.received).ended == ["T1"]


async def test_the_end_of_a_turn_that_is_taken_back_before_codex_reports_it_is_told() -> None:
    async with opened_stage() as stage:
        stage.operations.lost_endings.limits = EndingLimits(after_rest_s=0.01)
        writer = await stage.thread("T0")
        stage.says("turn/started", turn={"id": "T1", "items": [], "status": "inProgress"})
        stage.says("thread/status/changed", status={"type": "idle"})
        await writer.execute(RollBackTurns("T1", provider_did=True))
        await stage.hears("turn/completed")
        assert [one.id for one in writer.state.turns] == ["T0"]
    assert life_of(stage.client.received).ended == ["T1"]
