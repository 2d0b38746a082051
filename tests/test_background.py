"""One task that fails costs its own work; nothing else."""

import ast
from pathlib import Path

import anyio
import pytest
import trimpoint
from trimpoint import background
from trimpoint.background import spawn
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.threads.registry import ThreadRegistry

from tests.deadlines import STEP_S
from tests.threads.stage import OTHER, THREAD, Disk, Store, begin, turn

PRODUCT = Path(trimpoint.__file__).parent
# Programs that are clients of the daemon, and what runs in a process of its own.
CLIENTS = {"acp", "cli", "demo", "desktop", "testkit", "tui", "doctor"}


def own_groups(function: ast.AST) -> set[str]:
    """The names of the task groups that a function opens itself."""
    return {
        item.optional_vars.id
        for node in ast.walk(function)
        if isinstance(node, ast.AsyncWith)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name)
        and "create_task_group" in ast.unparse(item.context_expr)
    }


def foreign_starts(source: str) -> list[str]:
    """The tasks that a module starts in task groups that it was given."""
    tree = ast.parse(source)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.AsyncFunctionDef)]
    own = {
        id(call)
        for function in functions
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in own_groups(function)
    }
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [
        ast.unparse(call)
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "start_soon"
        and id(call) not in own
    ]


def test_every_task_in_a_group_of_others_is_started_by_spawn() -> None:
    modules = (
        path
        for path in PRODUCT.rglob("*.py")
        if path.relative_to(PRODUCT).parts[0] not in CLIENTS and path.name != "background.py"
    )
    found = {
        str(path.relative_to(PRODUCT)): starts
        for path in modules
        if (starts := foreign_starts(path.read_text()))
    }
    assert found == {}


async def test_a_task_that_fails_ends_no_other() -> None:
    ended = anyio.Event()

    async def fail() -> None:
        raise RuntimeError("a defect")

    async def end() -> None:
        ended.set()

    with anyio.fail_after(STEP_S):
        async with anyio.create_task_group() as tasks:
            spawn(tasks, fail)
            spawn(tasks, end)
            await ended.wait()


async def test_a_lasting_task_that_fails_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "AGAIN_AFTER_S", 0)
    attempts: list[int] = []

    async def fail_twice() -> None:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            raise RuntimeError("a defect")

    async with anyio.create_task_group() as tasks:
        spawn(tasks, fail_twice, lasting=True)
    assert attempts == [0, 1, 2]


async def test_a_task_that_comes_too_late_is_not_started() -> None:
    async with anyio.create_task_group() as tasks:
        pass
    spawn(tasks, anyio.sleep, 0)


async def test_a_subscriber_that_fails_costs_the_record_to_itself() -> None:
    heard: list[str] = []

    def fail(thread_id: str, record: ev.Record) -> None:
        raise RuntimeError("a defect")

    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        registry.subscribe(fail)
        registry.subscribe(lambda thread_id, _: heard.append(thread_id))
        await begin(registry)
    assert heard == [THREAD]


async def test_a_journal_that_cannot_be_closed_keeps_no_other_from_being_written() -> None:
    disk = Disk()
    async with ThreadRegistry.running(Store(disk), Policy()) as registry:
        first, second = await begin(registry), await begin(registry, OTHER)
        disk.fill(THREAD)
        first.record_facts(*turn("T1"))
        second.record_facts(*turn("T1"))
    assert [one.id for one in disk.written(OTHER).turns] == ["T1"]
    assert disk.written(THREAD).turns == []
    assert any("catalogue" in name for name in disk.checked)
