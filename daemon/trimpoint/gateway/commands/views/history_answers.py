"""Answers the agent tools `search_history` and `read_history`, from the agent's own thread only
(docs/recall.md).
"""

from typing import Any

from trimpoint.core.decide.agent_tools import Answer
from trimpoint.core.views import history_tools as tools
from trimpoint.recall.history import History, excerpt
from trimpoint.recall.index import Where
from trimpoint.recall.recall import RecallUnavailable
from trimpoint.threads.writing.writer import ThreadWriter


class HistoryAnswers:
    """Answers the history tools from `history`."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def answer(self, writer: ThreadWriter, tool: str, arguments: Any) -> Answer:
        """Returns the answer to a call of `search_history` or `read_history`."""
        if tool == tools.SEARCH_HISTORY:
            return await self._search(writer, tools.search_call(arguments))
        return _read(writer, tools.read_call(arguments))

    async def _search(self, writer: ThreadWriter, call: tools.SearchCall | Answer) -> Answer:
        if isinstance(call, Answer):
            return call
        try:
            page = await self._history.search(
                call.query,
                Where(thread_id=writer.thread_id),
                pruned_only=call.pruned_only,
                limit=tools.MAX_HITS,
            )
        except RecallUnavailable as error:
            return Answer(f"The history cannot be searched now: {error.detail}.", success=False)
        quotes = [tools.Quote(hit.placed, hit.snippet.text, hit.in_context) for hit in page.hits]
        return tools.found_answer(writer.state, call, quotes)


def _read(writer: ThreadWriter, call: tools.ReadCall | Answer) -> Answer:
    if isinstance(call, Answer):
        return call
    found = excerpt(writer.state, call.name, None, call.before, call.after)
    if found is None:
        return tools.read_answer(call, None)
    quotes = [tools.Quote(one, one.text, in_context) for one, in_context in found.entries]
    return tools.read_answer(call, quotes)
