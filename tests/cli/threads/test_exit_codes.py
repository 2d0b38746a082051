"""What is mistyped or refused exits the same, whether it is typed in the shell or as a prompt."""

import shlex

import pytest
from trimpoint.core.commands.registry import REGISTRY

from tests.cli.conftest import Typed
from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex

DONE, FAILED, USAGE, SKIPPED = range(4)
NO_TURN_YET = {
    "clear": SKIPPED, "compact": SKIPPED, "compress": SKIPPED, "mask": USAGE, "undo": SKIPPED,
    "revert": SKIPPED,
    "accept": USAGE, "summary": DONE, "summary edit": SKIPPED, "handoff": SKIPPED,
    "new": SKIPPED, "new --pins": SKIPPED, "unpin": SKIPPED, "pin": FAILED,
}  # fmt: skip
TWO_TURNS = {
    "context foo": USAGE, "context --foo": USAGE, "timeline foo": USAGE, "timeline --foo": USAGE,
    "timeline -1": USAGE, "search": USAGE, "stats foo": USAGE, "stats --by week": USAGE, "stats --since soon": USAGE,
    "stats --by day": DONE, "stats --since 7d": DONE, "pins foo": USAGE, "pins --foo": USAGE,
    "trust foo": USAGE, "auto foo": USAGE, "auto mask 5": USAGE,
    "clear abc": USAGE, "clear 1 2": USAGE, "clear --foo": USAGE, "clear 2..1": USAGE, "clear -1": USAGE,
    "clear 99": SKIPPED, "clear 1..99": FAILED,
    "compact --keep": USAGE, "compact --keep x": USAGE, "compact --foo": USAGE, "compact --keep 99": SKIPPED,
    "compact --edit": USAGE, "accept": USAGE, "accept mine": USAGE,
    "handoff --foo": USAGE, "summary edit mine": SKIPPED, "summary mine": USAGE, "summary --foo": USAGE,
    "compress --foo": USAGE, "compress foo": USAGE, "compress": SKIPPED,
    "mask": USAGE, "mask x": USAGE, "mask 2..1": USAGE, "mask 1": SKIPPED, "mask 99": FAILED,
    "undo 99": USAGE, "undo x": USAGE, "undo --foo": USAGE, "undo": SKIPPED, "undo --redo": SKIPPED,
    "revert foo": USAGE, "revert 1 2": USAGE, "revert --foo": USAGE, "revert 99": FAILED,
    "revert --undo": SKIPPED,
    "pin --foo": USAGE, "pin 99": FAILED, "unpin foo": USAGE, "unpin 9": SKIPPED,
    "new foo": USAGE, "new --foo": USAGE, "claer 3": USAGE,
    "context": DONE, "timeline": DONE, "stats": DONE, "pins": DONE, "auto": DONE,
    "clear --dry-run": DONE, "new --dry-run": DONE,
}  # fmt: skip


async def test_a_mistake_and_a_refusal_exit_the_same_in_the_shell_and_as_a_prompt(
    stage: CliHarness, typed: Typed
) -> None:
    assert {line.split()[0] for line in TWO_TURNS} == {*REGISTRY, "claer"} - {"help"}
    problems = []
    async with stage.daemon() as client:
        thread_id = await stage.thread(client)
        for lines, turns in ((NO_TURN_YET, 0), (TWO_TURNS, 2)):
            for number in range(turns):
                await stage.turn(client, thread_id, f"alpha {number}")
            for line, code in lines.items():
                command, *words = shlex.split(line)
                # Some take the word for a thread, of which only one can be named.
                takes_thread = command in ("context", "timeline", "stats", "pins") and words
                named = [] if takes_thread or command == "claer" else ["-t", thread_id]
                ended = [
                    (await typed(command, *named, *words)).code,
                    (await typed("ask", "-t", thread_id, f"/{line}")).code,
                ]
                if ended != [code, code]:
                    problems.append(f"{line}: {ended} and not {code}")
        requests = len(stage.model.turn_requests())
    assert (problems, requests) == ([], 2)
