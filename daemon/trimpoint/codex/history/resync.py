"""What Codex did unheard: a daemon or a child that dies in the middle of a turn leaves more behind than the ledger was told.

Read back when the session is loaded again, so that the ledger and what the model sees agree (spec §2: no command half-happens).
"""

from collections.abc import Iterator
from typing import Any

import anyio.to_thread
import msgspec
import structlog

from trimpoint.codex.appserver.peer import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.history.adoption import turn_facts
from trimpoint.codex.history.rollout import items_by_turn, rollout_lines
from trimpoint.core.context.active_context import message_text
from trimpoint.core.model import events as ev
from trimpoint.core.model.lenient import as_list
from trimpoint.core.model.state import Generation, ThreadState

log = structlog.get_logger()

# A session breaks off in one turn, and in a few more at most if prompts were queued.
NEWEST_TURNS = 25
# What Codex puts into the context, in the user's name, when a turn was broken off.
NOT_A_PROMPT = "<turn_aborted>"


async def missed_facts(link: CodexLink, state: ThreadState, generation: Generation) -> tuple[ev.AnyEvent, ...]:
    """The facts of turns that the ledger lacks, wholly or in part, oldest first; what it knows already may be among them.

    :raises ProviderFailure: Codex is gone or does not answer. Where it lists no turns, there is nothing to add.
    """
    params = {"threadId": generation.provider_thread_id, "itemsView": "full", "limit": NEWEST_TURNS}
    try:
        listed = msgspec.json.decode(await link.request("thread/turns/list", params))
    except ProviderError as error:
        log.info("missed_turns_not_listed", thread_id=state.id, detail=error.message)
        return ()
    missed = list(_newest_until_known(state, listed.get("data") or []))[::-1]
    for turn in missed:
        _drop_prompt_sent_again(state, turn)
    await _add_unlisted_prompts([turn for turn in missed if _is_silent(state, turn)], generation.rollout_path)
    told = [turn for turn in missed if turn.get("items")]
    return tuple(fact for turn in told for fact in turn_facts(turn, generation.number, []))


def _newest_until_known(state: ThreadState, newest_first: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for turn in newest_first:
        kinds = {item.get("type") for item in turn.get("items") or ()}
        known = _known(state, turn)
        if known is not None and state.turns[known].status != "interrupted":
            return
        if "contextCompaction" in kinds and "userMessage" not in kinds:
            return  # the compaction that this provider thread was made by: what is older came with it
        yield turn


def _known(state: ThreadState, turn: dict[str, Any]) -> int | None:
    turn_id = str(turn["id"])
    return state.turn_index.get(state.turn_aliases.get(turn_id, turn_id))


def _drop_prompt_sent_again(state: ThreadState, turn: dict[str, Any]) -> None:
    """The ledger has the prompt of a turn that was tried again from the first time."""
    if str(turn["id"]) in state.turn_aliases:
        items = as_list(turn.get("items"))
        prompt = next((item for item in items if item.get("type") == "userMessage"), None)
        turn["items"] = [item for item in items if item is not prompt]


def _is_silent(state: ThreadState, turn: dict[str, Any]) -> bool:
    known = _known(state, turn)
    return not turn.get("items") and (known is None or state.turns[known].message_count == 0)


async def _add_unlisted_prompts(silent: list[dict[str, Any]], rollout_path: str | None) -> None:
    """Codex lists a prompt a moment after it has put it into the context (measured: 0.163), and may die in between."""
    if not silent or rollout_path is None:
        return
    items = items_by_turn(await anyio.to_thread.run_sync(rollout_lines, rollout_path))
    for turn in silent:
        shown = map(msgspec.json.decode, items.get(str(turn["id"]), []))
        turn["items"] = [_as_prompt(item) for item in shown if _is_prompt(item)]


def _is_prompt(item: dict[str, Any]) -> bool:
    return item.get("role") == "user" and not message_text(item).startswith(NOT_A_PROMPT)


def _as_prompt(item: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": message_text(item), "text_elements": []}]
    return {"type": "userMessage", "id": item.get("id") or "prompt", "clientId": None, "content": content}
