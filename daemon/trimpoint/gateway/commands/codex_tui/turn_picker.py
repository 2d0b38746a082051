"""Asks a person to choose a turn if `/clear` or `/revert` was typed without one.

Only Codex's own terminal UI is asked, because other clients may not be able to show a choice.
"""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.commands.clear import Clear, offers
from trimpoint.core.commands.revert import Revert
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.session.clients import Client
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.own_questions import OwnQuestions
from trimpoint.gateway.session.played_turns import PlayedTurn
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.registry import ThreadRegistry

P = TypeVar("P", bound=Hashable)
METHOD = "item/tool/requestUserInput"
MAX_CHOICES = 9
MAX_WORDS_CHARS = 60
_QUESTION = "turn"


class Choice(NamedTuple):
    """One choice. `number` becomes the command's argument."""

    label: str
    description: str
    number: int


class _Asked(NamedTuple):
    header: str
    question: str
    choices: Callable[[ThreadState], list[Choice]]
    with_number: Callable[[int], Any]


class TurnPicker:
    """Completes commands that name no turn."""

    def __init__(self, registry: ThreadRegistry, questions: OwnQuestions) -> None:
        self._registry = registry
        self._questions = questions

    async def completed(self, client: Client, turn: PlayedTurn, parsed: P) -> P | None:
        """Returns the command with the turn that the person chose, or None if they chose none.

        A command that needs no choice is returned unchanged.
        """
        asked = ASKED.get(parsed) if is_codex_tui(client) else None
        writer = self._registry.loaded(turn.thread_id)
        if asked is None or writer is None or writer.state.running_turn_id is not None:
            return parsed
        choices = asked.choices(writer.state)
        if len(choices) < 2:
            return parsed
        raw = await self._questions.ask(client, METHOD, _params(turn, asked, choices))
        if raw is None:
            return None
        chosen = _chosen(msgspec.json.decode(raw))
        found = next((one.number for one in choices if one.label == chosen), None)
        return None if found is None else asked.with_number(found)


def choices_to_keep(state: ThreadState) -> list[Choice]:
    """Returns the numbers of turns that `/clear` can keep; none if there is nothing to choose."""
    active = state.active_turns
    if len(active) < 2:
        return []
    _, *kept, none = offers(len(active), MAX_CHOICES - 2)
    return [
        Choice("Everything", "Nothing is cleared", len(active)),
        *(
            Choice(
                "The last turn" if count == 1 else f"The last {count} turns",
                f"from: {first_words(state, active[-count])}",
                count,
            )
            for count in kept
        ),
        Choice("Nothing", "The agent starts afresh", none),
    ]


def choices_to_go_back_to(state: ThreadState) -> list[Choice]:
    """Returns the turns that `/revert` can go back to, the turn before the last one first."""
    last = len(state.turns) - 1
    turns = [
        Choice(f"Turn {number}", first_words(state, state.turns[number - 1]), number)
        for number in range(last, max(0, last - MAX_CHOICES + 1), -1)
    ]
    is_all = last < MAX_CHOICES
    return [*turns, *([Choice("The beginning", "before the first turn", 0)] if is_all else [])]


def first_words(state: ThreadState, turn: Turn) -> str:
    """Returns the first words of a turn's prompt, at most `MAX_WORDS_CHARS` characters."""
    index = state.turn_index[turn.id]
    entries = state.entries[turn.first_entry_index : state.entries_end(index)]
    text = next((entry.text for entry in entries if entry.role == "user"), "")
    words = " ".join(text.split())
    return words if len(words) <= MAX_WORDS_CHARS else f"{words[: MAX_WORDS_CHARS - 1]}…"


ASKED: dict[Hashable, _Asked] = {
    Clear(): _Asked(
        "Clear",
        "What should stay in the agent's context?",
        choices_to_keep,
        Clear,
    ),
    Revert(): _Asked(
        "Revert",
        "Go back to which turn? What came after it is taken back.",
        choices_to_go_back_to,
        Revert,
    ),
}
"""The commands that are asked about: those without arguments."""


def _params(turn: PlayedTurn, asked: _Asked, choices: list[Choice]) -> dict[str, Any]:
    options = [{"label": one.label, "description": one.description} for one in choices]
    question = {
        "id": _QUESTION, "header": asked.header, "question": asked.question, "isOther": False,
        "isSecret": False, "options": options,
    }  # fmt: skip
    return {
        "threadId": turn.thread_id, "turnId": turn.turn_id, "itemId": new_uuid7(),
        "questions": [question], "isBlocking": True, "autoResolutionMs": None,
    }  # fmt: skip


def _chosen(result: Any) -> str | None:
    answers = as_dict(as_dict(as_dict(result).get("answers")).get(_QUESTION)).get("answers")
    return next((str(one) for one in as_list(answers)), None)
