"""What a typed command asks of the thread, and the command that takes it back."""

import msgspec
import pytest
from trimpoint.core.commands.clear import offers
from trimpoint.core.commands.declaration import Change, Command, CommandIds, Done, Reading
from trimpoint.core.commands.looking import Timeline
from trimpoint.core.commands.parsing import parse
from trimpoint.core.commands.pins import Pin, Unpin
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.core.commands.revert import Revert
from trimpoint.core.model.decision import Policy
from trimpoint_protocol import commands as wire

from tests.core.given import Conversation, client, started

IDS = CommandIds("thread-1", "command-1")
REQUESTS: list[tuple[str, wire.AnyClientCommand]] = [
    (
        "/clear 3 --force",
        wire.TrimContext(**IDS._asdict(), keep_last_n_turns=3, force=True),
    ),
    ("/clear 4..12", wire.TrimContext(**IDS._asdict(), from_turn=4, through_turn=12)),
    ("/clear ..12", wire.TrimContext(**IDS._asdict(), through_turn=12)),
    ("/clear 4..", wire.TrimContext(**IDS._asdict(), from_turn=4)),
    (
        "/compact --keep 2 --model gpt-5 mind the API",
        wire.CompactContext(
            **IDS._asdict(), keep_last_n_turns=2, model="gpt-5", guidance="mind the API"
        ),
    ),
    ("/compact --edit", wire.CompactContext(**IDS._asdict(), keep_last_n_turns=0, edit=True)),
    ("/accept", wire.AcceptDraft(**IDS._asdict())),
    (
        "/accept draft:id-7 --- mine",
        wire.AcceptDraft(**IDS._asdict(), draft_id="id-7", text="--- mine"),
    ),
    ("/summary edit edit nothing", wire.EditSummary(**IDS._asdict(), text="edit nothing")),
    ("/summary edit", wire.EditSummary(**IDS._asdict(), text="")),
    ("/handoff write the tests", wire.DraftHandoff(**IDS._asdict(), goal="write the tests")),
    ("/handoff --yes", wire.DraftHandoff(**IDS._asdict())),
    ("/compress 50k", wire.DiscardContext(**IDS._asdict(), target_tokens=50_000)),
    ("/mask", wire.MaskContext(**IDS._asdict())),
    ("/mask 5", wire.MaskContext(**IDS._asdict(), from_turn=5, through_turn=5)),
    ("/mask ..12", wire.MaskContext(**IDS._asdict(), through_turn=12)),
    ("/undo --redo", wire.UndoTrim(**IDS._asdict(), redo=True)),
    ("/new --pins", wire.ArchiveAndNew(**IDS._asdict(), pins=True)),
    (
        "/revert 4 --context",
        wire.RevertToCheckpoint(**IDS._asdict(), turn_count=4, scope="context"),
    ),
    (
        "/pin 1 2 never touch a.txt",
        wire.PinContext(**IDS._asdict(), turns=[1, 2], note="never touch a.txt"),
    ),
    ("/auto mask", wire.SetAuto(**IDS._asdict(), mode="mask")),
    ("/unpin 2", wire.UnpinContext(**IDS._asdict(), pins=[2])),
]


def parsed(text: str) -> Change:
    found = parse(text)
    assert isinstance(found, Change)
    return found


@pytest.mark.parametrize(("text", "request_"), REQUESTS)
def test_a_command_asks_for_what_was_typed(text: str, request_: wire.AnyClientCommand) -> None:
    assert parsed(text).request(IDS) == request_


@pytest.mark.parametrize("text", [text for text, _ in REQUESTS])
def test_a_command_that_is_typed_from_its_values_is_the_same(text: str) -> None:
    command = parsed(text)
    values = {name: getattr(command, name) for name in type(command).arguments()}
    assert parse(type(command).typed(values)) == command


def cleared() -> Conversation:
    thread = started(turns=2)
    thread.do(client(wire.TrimContext))
    thread.settle()
    return thread


def test_the_way_back_is_the_command_that_undoes_it() -> None:
    thread = cleared()
    done = Done(thread.state)
    assert parsed("/clear").way_back(done) == "/undo"
    assert parsed("/revert").way_back(done) == "/revert --undo"
    assert str(parsed("/new").way_back(done)).endswith(thread.state.id)
    thread.do(client(wire.UndoTrim))
    thread.settle()
    assert parsed("/undo").way_back(Done(thread.state)) == "/undo --redo"


def test_a_pin_is_taken_back_by_its_number_and_an_unpin_by_nothing() -> None:
    thread = started(turns=1)
    thread.do(client(wire.PinContext, turns=[1]))
    state = thread.state
    made = thread.records[-1].events
    assert Pin().way_back(Done(state, made)) == "/unpin 1"
    assert Pin().way_back(Done(state)) is None
    assert Unpin().way_back(Done(state)) is None


def test_every_reading_command_answers() -> None:
    state = started(turns=1).state
    for kind in REGISTRY.values():
        if issubclass(kind, Reading) and kind is not Reading:
            assert kind().answer(state, Policy()).text


def test_what_only_derived_commands_can_do_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        Reading().answer(started().state, Policy())
    with pytest.raises(NotImplementedError):
        Change().request(IDS)


def test_revert_is_described_and_timeline_is_read() -> None:
    assert issubclass(Revert, Command)
    assert Timeline(1).answer(started(turns=1).state, Policy()).text
    assert msgspec.structs.asdict(parsed("/undo").request(IDS))["redo"] is False


def test_of_what_a_clear_can_keep_the_first_takes_nothing_and_the_last_everything() -> None:
    assert offers(2, 8) == [2, 1, 0]
    assert offers(4, 2) == [4, 1, 2, 0]
    assert offers(3, 2) == [3, 1, 2, 0]
