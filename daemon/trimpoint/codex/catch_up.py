"""What Codex did unheard: a daemon or a child that dies in the middle of a turn leaves more behind than the ledger was told.

Read back when the session is loaded again, so that the ledger and what the model sees agree (spec §2: no command half-happens).
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import structlog

from trimpoint.codex.adoption import turn_facts
from trimpoint.codex.link import CodexLink
from trimpoint.codex.peer import ProviderError
from trimpoint.core import events as ev
from trimpoint.core.state import Generation, ThreadState

log = structlog.get_logger()

# A session breaks off in one turn, and in a few more at most if prompts were queued.
NEWEST_TURNS = 25


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
    missed = list(_newest_until_known(state, listed.get("data") or []))
    return tuple(fact for turn in reversed(missed) for fact in turn_facts(turn, generation.number, []))


def _newest_until_known(state: ThreadState, newest_first: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for turn in newest_first:
        kinds = {item.get("type") for item in turn.get("items") or ()}
        known = state.turn_index.get(str(turn["id"]))
        if known is not None and state.turns[known].status != "interrupted":
            return
        if "contextCompaction" in kinds and "userMessage" not in kinds:
            return  # the compaction that this provider thread was made by: what is older came with it
        if kinds or known is not None:
            yield turn
