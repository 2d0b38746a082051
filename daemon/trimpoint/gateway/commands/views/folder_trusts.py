"""Answers `/trust`: whether Codex trusts a thread's folder."""

from trimpoint_protocol.methods import CommandOutcome

from trimpoint.codex.project_trust import ProjectTrust
from trimpoint.core.commands.trust import UNDONE_BY, Trust, trust_said
from trimpoint.gateway.commands.slash_outcomes import outcome
from trimpoint.threads.registry import ThreadRegistry


class FolderTrusts:
    """Answers `/trust` from Codex's configuration."""

    def __init__(self, registry: ThreadRegistry, trust: ProjectTrust) -> None:
        self._registry = registry
        self._trust = trust

    async def run(self, thread_id: str, parsed: Trust) -> CommandOutcome:
        """Returns what Codex's configuration says about the thread's folder, after the change that
        was asked for.

        :raises ThreadError: when there is no such thread.
        :raises ProviderFailure: when Codex refused, or has ended.
        """
        cwd = (await self._registry.thread(thread_id)).state.cwd
        answer = parsed.wanted
        if answer is None:
            found = await self._trust.of(cwd)
        else:
            found = await self._trust.change(cwd, is_trusted=answer == "yes")
        text, hints = trust_said(found, answer)
        undo = UNDONE_BY.get(answer or "")
        return outcome(Trust.command, text, hints=[*hints], undo=undo)
