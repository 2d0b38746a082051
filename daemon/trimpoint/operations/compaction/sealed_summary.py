"""Gets a readable summary of a compacted thread whose own summary is sealed, with one sample over
it (docs/spec/sessions.md).

Uses `thread/sample` where Codex has it (0.171), otherwise a turn on an ephemeral fork. Neither
changes the compacted thread.
"""

import msgspec
import structlog

from trimpoint.codex.appserver.errors import ProviderError, ProviderTimeout
from trimpoint.codex.appserver.supervisor import lacks_method
from trimpoint.operations.compaction.compaction import GUIDANCE_PREFIX
from trimpoint.operations.compaction.hidden_answers import ask_hidden
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

PROMPT = (
    "Write down a summary of this conversation for somebody who takes it over and sees nothing "
    "else of it: what was asked, "
    "what was done and decided, the state of the files, what remains to be done. Answer with the "
    "summary alone and use no tools."
)


async def read_sealed_summary(
    threads: ProviderThreads,
    writer: ThreadWriter,
    compacted_id: str,
    turn_id: str,
    guidance: str | None,
    deadline_s: float,
) -> str | None:
    """Returns the summary as text, or None when the model gave none; then the compacted thread
    itself has to serve the thread.

    :raises ProviderFailure: when Codex has ended.
    """
    prompt = PROMPT + (f"\n\n{GUIDANCE_PREFIX}{guidance}" if guidance else "")
    try:
        return await _sample(threads, compacted_id, turn_id, prompt, deadline_s) or None
    except ProviderTimeout:
        return None
    except ProviderError as error:
        if not lacks_method(error):
            log.warning("sample_refused", detail=error.message)
    try:
        return await _ask_hidden(threads, writer, compacted_id, prompt) or None
    except ProviderError as error:
        log.warning("summary_unavailable", detail=error.message)
        return None


async def _sample(
    threads: ProviderThreads, compacted_id: str, turn_id: str, prompt: str, deadline_s: float
) -> str:
    params = {"threadId": compacted_id, "expectedTurnId": turn_id, "prompt": prompt}
    raw = await threads.link.request("thread/sample", params, deadline_s=deadline_s)
    return str(msgspec.json.decode(raw).get("text") or "").strip()


async def _ask_hidden(
    threads: ProviderThreads, writer: ThreadWriter, compacted_id: str, prompt: str
) -> str:
    outcome = await ask_hidden(threads, writer, compacted_id, prompt)
    return outcome.text.strip() if outcome.status == "completed" else ""
