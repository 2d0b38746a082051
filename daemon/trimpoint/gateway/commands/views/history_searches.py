"""Answers `/search`: the matches in a thread's history, as lines for a chat."""

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint
from trimpoint_protocol.methods import CommandOutcome

from trimpoint.core.commands.looking import Search
from trimpoint.core.views.history_view import found_line
from trimpoint.gateway.commands.slash_outcomes import failed_outcome, outcome
from trimpoint.recall.history import History
from trimpoint.recall.index import Where
from trimpoint.recall.recall import RecallUnavailable
from trimpoint.recall.words import terms_in

SHOWN = 10


class HistorySearches:
    """Answers `/search` from `history`."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def run(self, thread_id: str, query: str) -> CommandOutcome:
        """Returns an outcome with one line for each match, or one that says why the search
        failed.
        """
        if not terms_in(query):
            return failed_outcome(
                Search.command, Reason.USAGE, "/search takes some words, such as /search KeyError."
            )
        try:
            page = await self._history.search(
                query, Where(thread_id=thread_id), pruned_only=False, limit=SHOWN
            )
        except RecallUnavailable as error:
            problem = f"The history cannot be searched at present: {error.detail}."
            way = CommandHint("/timeline", "lists the turns without it")
            reason = Reason.SEARCH_UNAVAILABLE
            return outcome(Search.command, problem, "failed", reason=reason, hints=[way])
        lines = [
            found_line(hit.thread_id, hit.placed, hit.snippet.text, in_context=hit.in_context)
            for hit in page.hits
        ]
        more = ["There are more; give more words."] if page.next_place is not None else []
        message = "\n".join([*lines, *more]) or "Nothing in this thread has these words."
        return outcome(Search.command, message)
