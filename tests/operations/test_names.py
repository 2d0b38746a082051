"""A name that a person gave, and that was acknowledged, outlives whatever Codex says and forgets."""

from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.errors import ProviderTimeout
from trimpoint.core.model import events as ev
from trimpoint.operations.provider.names import give_name
from trimpoint.operations.routing.name_reports import NameReports
from trimpoint_protocol.commands import RenameThread

from tests.operations.stage import ScriptedCodex, Stage, opened_stage
from tests.threads.stage import THREAD


class NamingCodex(ScriptedCodex):
    """Keeps one name, and reports each that it is given; `deaf` answers no request for one."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "old"
        self.deaf = False
        self.stage: Stage | None = None

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        if method == "thread/name/set":
            if self.deaf:
                raise ProviderTimeout(method, 30.0)
            self.name = params["name"]
            if self.stage is not None:
                self.stage.says("thread/name/updated", threadName=self.name)
            return {}
        if method == "thread/resume":
            return {"thread": {"id": THREAD, "path": None, "name": self.name}, "model": "m"}
        return super().answer(method, params)


def rename(name: str) -> RenameThread:
    return RenameThread(command_id=f"to {name}", thread_id=THREAD, name=name)


def names(stage: Stage) -> list[str]:
    """The names that clients were told, in order."""
    told = [message.get("params", {}) for message in stage.client.received]
    return [
        event["payload"]["name"]
        for params in told
        if (event := params.get("event", {})).get("type") == "thread.renamed"
    ]


async def test_a_name_that_codex_never_got_is_given_to_it_when_the_thread_is_loaded() -> None:
    codex = NamingCodex()
    async with opened_stage(codex) as stage:
        await stage.thread()
        codex.deaf = True
        await stage.operations.sessions.dispatch(rename("new"))
        await codex.until(lambda: "thread/name/set" in codex.answered)
        disk = stage.disk
    codex.deaf = False
    async with opened_stage(codex, disk) as stage:
        session = await stage.operations.sessions.ready(THREAD)
        assert (session.writer.state.name, codex.name) == ("new", "new")
        codex.name = "another program's"
        stage.operations.threads.forget(THREAD)
        await stage.operations.sessions.ready(THREAD)
        assert session.writer.state.name == "another program's"


@pytest.mark.parametrize("stored", ["first", "second"])
async def test_a_name_that_codex_acknowledged_and_lost_when_it_was_killed_is_given_to_it_again(
    stored: str,
) -> None:
    codex = NamingCodex()
    async with opened_stage(codex) as stage:
        writer = await stage.thread()
        for name in ("first", "second", "third"):
            await stage.operations.sessions.dispatch(rename(name))
        await codex.until(lambda: not writer.state.name_unconfirmed)
        await writer.flush()
        disk = stage.disk
    codex.name = stored
    async with opened_stage(codex, disk) as stage:
        session = await stage.operations.sessions.ready(THREAD)
        assert (session.writer.state.name, codex.name) == ("third", "third")


async def test_a_name_is_given_to_codex_again_after_it_did_not_answer() -> None:
    codex = NamingCodex()
    async with opened_stage(codex) as stage:
        writer = await stage.thread()
        codex.deaf = True
        await stage.operations.sessions.dispatch(rename("new"))
        await codex.until(lambda: "thread/name/set" in codex.answered)
        codex.deaf = False
        await stage.operations.sessions.ready(THREAD)
        assert (writer.state.name, codex.name) == ("new", "new")


@pytest.mark.parametrize("method", ["thread.rename", "thread/name/set"])
async def test_many_names_at_once_are_each_recorded_once_and_none_is_codexs(method: str) -> None:
    codex = NamingCodex()
    given = [f"name {number}" for number in range(100)] + ["name 5", "name 6", "name 5"]
    async with opened_stage(codex) as stage:
        writer, records = await stage.thread(), list[ev.Record]()
        codex.stage = stage
        stage.registry.subscribe(lambda _, record: records.append(record))

        async def give(name: str, number: int) -> None:
            if method == "thread.rename":
                command = RenameThread(command_id=f"c{number}", thread_id=THREAD, name=name)
                await stage.operations.sessions.dispatch(command)
            else:
                await stage.ask("thread/name/set", name=name)

        async with anyio.create_task_group() as tasks:
            for number, name in enumerate(given):
                tasks.start_soon(give, name, number)
        await codex.until(lambda: codex.name == "name 5")
        await writer.flush()
        renamed = [e.name for r in records for e in r.events if isinstance(e, ev.ThreadRenamed)]
        assert renamed == given
        assert writer.state.name == codex.name == "name 5"


async def test_a_name_that_another_program_gave_is_recorded() -> None:
    codex = NamingCodex()
    async with opened_stage(codex) as stage:
        writer = await stage.thread()
        codex.stage = stage
        await stage.ask("thread/name/set", name="ours")
        stage.says("thread/name/updated", threadName="theirs")
        assert writer.state.name == "theirs"


async def test_a_name_that_the_disk_may_refuse_is_not_given_to_codex() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread()
        writer.submit(RenameThread(command_id="c", thread_id=THREAD, name="new"))
        await give_name(stage.operations.threads.link, NameReports(), writer, THREAD)
        assert stage.codex.count("thread/name/set") == 0
        await writer.flush()
        await stage.codex.until(lambda: "thread/name/set" in stage.codex.answered)
