"""Gives names to provider threads.

Always true: a name that a person gave, and that was acknowledged, is replaced only by a later one.
Until Codex has it, it is marked as unconfirmed, and given to Codex again whenever the thread is
loaded.
"""

from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.core.model import events as ev
from trimpoint.operations.routing.name_reports import NameReports
from trimpoint.threads.writing.writer import ThreadWriter


async def give_name(
    link: CodexLink, reports: NameReports, writer: ThreadWriter, provider_id: str
) -> None:
    """Gives the thread's name to a provider thread, and again while it changes meanwhile.

    :raises ProviderFailure: when Codex refused, has ended or does not answer.
    """
    while (name := writer.state.name) is not None:
        if writer.state.name_unconfirmed and writer.is_unwritten(ev.ThreadRenamed):
            return  # the disk may refuse it; what reacts to the durable record gives it
        reports.expect(provider_id, name)
        await link.request("thread/name/set", {"threadId": provider_id, "name": name})
        if writer.state.name == name:
            writer.record_facts(ev.NameConfirmed(name))
            return
