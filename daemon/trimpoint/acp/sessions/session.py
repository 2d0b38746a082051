"""One session of an editor: its prompts, its settings, and the updates about its thread.

The editor receives updates of a turn only between its own prompt and the answer. Turns of other
clients are not shown while they run, only the context meter; the history is complete when the
session is loaded the next time.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from trimpoint_protocol.lenient import Json, as_dict, as_text

from trimpoint.acp.connection.daemon import LOST, DaemonLink
from trimpoint.acp.connection.editor import Editor
from trimpoint.acp.connection.peer import INTERNAL, INVALID_PARAMS, Incoming, RpcError
from trimpoint.acp.sessions.catalogue import Catalogue
from trimpoint.acp.sessions.command_run import CommandRun, command_ended
from trimpoint.acp.sessions.mcp_servers import McpServers
from trimpoint.acp.sessions.own_turn import OwnTurn
from trimpoint.acp.sessions.prompt import Prompt
from trimpoint.acp.sessions.questions import Questions
from trimpoint.acp.sessions.thread_link import ThreadLink, refused_prompt
from trimpoint.acp.translate import settings as s
from trimpoint.acp.translate.commands import ALIASES, CONTEXT, STATUS, command_name, without_alias
from trimpoint.acp.translate.prompts import BadPrompt, has_attachments, input_of, typed_text
from trimpoint.acp.translate.settings import Settings
from trimpoint.acp.translate.status import meter_text, notice_of, title_of, usage_of
from trimpoint.acp.wire.answers import NewSession, Opened, OptionsSet, PromptEnded
from trimpoint.acp.wire.content import Text
from trimpoint.acp.wire.updates import (
    AgentMessageChunk,
    Compaction,
    CompactionStatus,
    ConfigOptions,
    CurrentMode,
    SessionInfo,
    Usage,
)

ATTACHMENTS_IGNORED = "A slash command takes no attachments, so they were not sent.\n\n"
_AUTO_STATUS: dict[str, CompactionStatus] = {
    "ready": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}


class Session:
    """A session. `id` is the editor's name for it and never changes, while the thread behind it can
    be replaced. Usable after `start` or `resume`.
    """

    def __init__(
        self,
        link: DaemonLink,
        editor: Editor,
        catalogue: Catalogue,
        servers: McpServers,
        roots: list[str],
    ) -> None:
        self.id = ""
        self.thread = ThreadLink(link, self, servers.config, roots)
        self.turn: OwnTurn | None = None
        self._link = link
        self._editor = editor
        self._catalogue = catalogue
        self._servers = servers
        self._prompts: list[Prompt] = []
        self._commands: list[CommandRun] = []
        self._first = self._now = Settings({}, None, "", None, "")
        self._title: str | None = None
        self._usage: Usage | None = None
        self._is_announced = False
        self._compaction_id: str | None = None
        self._stop: asyncio.Task[None] | None = None
        self._questions: Questions
        self._readers: dict[str, Callable[[Json], None]] = {
            "context/updated": self._metered,
            "thread/name/updated": self._named,
            "thread/settings/updated": self._set_elsewhere,
            "mcpServer/startupStatus/updated": self._mcp_server,
            "serverRequest/resolved": lambda params: self._questions.resolved(
                params.get("requestId")
            ),
            "commands/progress": self._progress,
        }

    async def start(self, cwd: str) -> NewSession:
        """Starts a new thread and returns the answer for the editor.

        :raises RpcError: when Codex refused.
        """
        self._opened(await self.thread.start(cwd), self.thread.id)
        modes, options = s.modes(self._now, self._first), await self._options()
        return NewSession(session_id=self.id, modes=modes, config_options=options)

    async def resume(self, session_id: str, cwd: str) -> Opened:
        """Resumes the thread `session_id` and returns the answer for the editor.

        :raises RpcError: when there is no such thread, or it is archived.
        """
        self.id = session_id
        self._questions = Questions(session_id, self._editor, lambda: self.turn)
        answer = await self.thread.resume(session_id)
        self._opened(answer, session_id)
        if self._now.cwd != cwd:
            await self._link.request("thread/settings/update", threadId=self.thread.id, cwd=cwd)
            self._now = self._now._replace(cwd=cwd)
        thread = as_dict(answer.get("thread"))
        self._title = title_of(as_text(thread.get("name")) or None, as_text(thread.get("preview")))
        return Opened(modes=s.modes(self._now, self._first), config_options=await self._options())

    async def announce(self) -> None:
        """Sends what an editor needs besides the answer that opened the session: commands, title
        and meter.

        :raises RpcError: when the daemon cannot be reached.
        """
        self._is_announced = True
        self._editor.update(self.id, await self._catalogue.commands())
        if self._title is not None:
            self._editor.update(self.id, SessionInfo(title=self._title))
        await self._read_meter()
        self._editor.notice(self.id, "warning", await self._link.upgrade() or "")

    def accept(self, request: Incoming) -> Prompt:
        """Registers a prompt, which `work` then carries out."""
        self._prompts = [one for one in self._prompts if not one.is_over]
        prompt = Prompt(request)
        self._prompts.append(prompt)
        return prompt

    async def work(self, prompt: Prompt, blocks: list[Json]) -> None:
        """Carries a prompt out as a command or a turn, and answers it."""
        try:
            await self._work(prompt, blocks)
        except RpcError as error:
            prompt.fail(refused_prompt(error, self.thread.id))

    async def _work(self, prompt: Prompt, blocks: list[Json]) -> None:
        await self.thread.attached()
        text = typed_text(blocks)
        is_command = await self._is_command(text)
        if prompt.is_cancelled:
            return
        if is_command and await self._carry_out(prompt, text, has_attachments(blocks)):
            return
        try:
            turn_input = input_of(blocks)
        except BadPrompt as problem:
            raise RpcError(INVALID_PARAMS, str(problem)) from None
        await self._servers.started()
        while self.turn is not None and not prompt.is_cancelled:
            if await self.turn.steer(prompt, turn_input):
                return
        if not prompt.is_cancelled:
            await self._begin_turn(prompt, turn_input, text)

    def cancel(self) -> None:
        """Cancels all prompts, and the compaction that they may wait for."""
        for prompt in self._prompts:
            prompt.cancel()
        self._stop_compaction()

    def cancel_request(self, request_id: bytes) -> bool:
        """Cancels the prompt of a request and those in the same turn. Returns False if the request
        belongs to another session.
        """
        is_ours = any(
            prompt.request.id == request_id and not prompt.is_over for prompt in self._prompts
        )
        if is_ours:
            self.cancel()
        return is_ours

    async def set_mode(self, mode_id: str) -> None:
        """Sets the mode of the session.

        :raises RpcError: when there is no such mode, or Codex refused.
        """
        await self._change(lambda: s.mode_update(mode_id, self._first))
        self._editor.update(self.id, ConfigOptions(config_options=await self._options()))

    async def set_option(self, config_id: str, value: Any) -> OptionsSet:
        """Sets an option and returns all options.

        :raises RpcError: when there is no such option or value, or Codex refused.
        """
        models = await self._catalogue.models()
        await self._change(
            lambda: s.option_update(config_id, value, self._now, self._first, models)
        )
        return OptionsSet(config_options=await self._options())

    async def close(self, *, interrupt: bool) -> None:
        """Closes the session: withdraws its questions, interrupts its turn if `interrupt`, and
        unsubscribes from the thread.
        """
        self._questions.close()
        if interrupt:
            self.cancel()
        turn = self.turn
        if interrupt and turn is not None and turn.turn_id is not None:
            await self._quietly("turn/interrupt", threadId=turn.thread_id, turnId=turn.turn_id)
        await self._quietly("thread/unsubscribe", threadId=self.thread.id)
        self.thread.close()

    def on_notification(self, method: str, params: Json) -> None:
        """Handles a notification about the thread."""
        reader = self._readers.get(method)
        if reader is not None:
            return reader(params)
        if (notice := notice_of(method, params)) is not None:
            return self._editor.notice(self.id, *notice)
        return self.turn.on_notification(method, params) if self.turn is not None else None

    def asked(self, question: Incoming, params: Json) -> None:
        """Handles a question of Codex."""
        self._questions.ask(question, params)

    def daemon_lost(self) -> None:
        """Ends the running turn and withdraws the questions, because the daemon is lost."""
        self._questions.close()
        if self.turn is not None:
            self.turn.fail(RpcError(INTERNAL, LOST, {"reason": "daemon_lost"}))

    def _opened(self, answer: Json, session_id: str) -> None:
        if not self.id:
            self.id = session_id
            self._questions = Questions(session_id, self._editor, lambda: self.turn)
        self._first = self._now = s.settings_of_answer(answer)

    async def _is_command(self, text: str) -> bool:
        name = command_name(text)
        if name is None:
            return False
        known = {one.name for one in (await self._catalogue.commands()).available_commands}
        return name in known or ALIASES.get(name) in known

    async def _carry_out(self, prompt: Prompt, text: str, with_attachments: bool) -> bool:
        """Carries out a prompt as a command. Returns False if the text is no command."""
        if await self._is_own_command(prompt, text):
            return True
        run = CommandRun(self.id, self.thread.id, self._link, self._editor, prompt)
        self._commands.append(run)
        try:
            outcome = await run.run(without_alias(text))
        finally:
            self._commands.remove(run)
        if not outcome.get("handled"):
            return False
        if with_attachments:
            self._say(ATTACHMENTS_IGNORED)
        if new_id := as_text(outcome.get("newThreadId")):
            self.thread.went_on_as(new_id)
            self._title = None
        await self._read_meter()
        prompt.end(command_ended(outcome))
        return True

    async def _is_own_command(self, prompt: Prompt, text: str) -> bool:
        """Answers `/status` and `/context`, which need no turn. Returns False for any other
        text.
        """
        name = command_name(text)
        if name not in (STATUS, CONTEXT) or await self._daemon_has(name):
            return False
        meter = await self._read_meter()
        lines = [f"Context: {meter_text(meter)}."]
        if name == STATUS:
            now = self._now
            mode = next((one.name for one in s.PRESETS if one.id == s.mode_of(now)), "Configured")
            effort = f", effort {now.effort}" if now.effort else ""
            lines = [
                f"Model: {now.model}{effort}.",
                f"Folder: {now.cwd}.",
                f"Mode: {mode}.",
                *lines,
                f"Thread: {self.thread.id}.",
            ]
        self._say("\n".join(f"- {line}" for line in lines))
        prompt.end(PromptEnded(stop_reason="end_turn"))
        return True

    async def _daemon_has(self, name: str) -> bool:
        listed = await self._link.request("commands/complete", text=f"/{name}")
        return any(one.get("name") == name for one in listed.get("commands", []))

    async def _begin_turn(
        self, prompt: Prompt, turn_input: list[dict[str, Any]], text: str
    ) -> None:
        turn = OwnTurn(self.id, self._link, self._editor, self._turn_ended)
        self.turn = turn
        turn.add(prompt)
        try:
            try:
                await turn.begin(self.thread.id, turn_input)
            except RpcError as error:
                successor = as_text(error.member("newThreadId"))
                if not successor:
                    raise
                # Another client has typed /new in the thread: the session continues there.
                await self.thread.resume_as(successor)
                await turn.begin(self.thread.id, turn_input)
        except RpcError as error:
            turn.fail(refused_prompt(error, self.thread.id))
            return
        if self._title is None:
            self._title = title_of(None, text)
            if self._title is not None:
                self._editor.update(self.id, SessionInfo(title=self._title))

    def _stop_compaction(self) -> None:
        if (compaction_id := self._compaction_id) is not None:
            stop = self._quietly("turn/interrupt", threadId=self.thread.id, turnId=compaction_id)
            self._stop = asyncio.get_running_loop().create_task(stop)

    def _turn_ended(self, turn: OwnTurn) -> None:
        if self.turn is turn:
            self.turn = None

    async def _change(self, wanted: Callable[[], Json]) -> None:
        try:
            changes = wanted()
        except s.BadChoice as problem:
            raise RpcError(INVALID_PARAMS, str(problem)) from None
        await self.thread.attached()
        await self._link.request("thread/settings/update", threadId=self.thread.id, **changes)
        self._now = self._now._replace(
            sandbox=changes.get("sandboxPolicy", self._now.sandbox),
            approval=changes.get("approvalPolicy", self._now.approval),
            model=changes.get("model", self._now.model),
            effort=changes.get("effort", self._now.effort),
        )

    async def _options(self) -> list[Any]:
        return s.options(self._now, self._first, await self._catalogue.models())

    async def _read_meter(self) -> Json:
        """Reads the context's status, sends it to the editor and returns it."""
        status = await self._link.request("context/status", threadId=self.thread.id)
        self._metered(status)
        return status

    async def _quietly(self, method: str, **params: Any) -> None:
        if self._link.is_connected:
            try:
                await self._link.request(method, **params)
            except RpcError:
                return  # what is to be ended has ended

    def _say(self, text: str) -> None:
        self._editor.update(self.id, AgentMessageChunk(content=Text(text=text)))

    def _metered(self, params: Json) -> None:
        usage = usage_of(params)
        if usage is not None and usage != self._usage and self._is_announced:
            self._usage = usage
            self._editor.update(self.id, usage)

    def _named(self, params: Json) -> None:
        name = as_text(params.get("threadName"))
        if name and name != self._title and self._is_announced:
            self._title = name
            self._editor.update(self.id, SessionInfo(title=name))

    def _set_elsewhere(self, params: Json) -> None:
        """Sends the editor settings that another client has changed."""
        before, self._now = self._now, s.settings_of_update(as_dict(params.get("threadSettings")))
        if before == self._now or not self._is_announced:
            return
        if s.mode_of(before) != s.mode_of(self._now):
            self._editor.update(self.id, CurrentMode(current_mode_id=s.mode_of(self._now)))
        options = s.options(self._now, self._first, self._catalogue.known_models)
        self._editor.update(self.id, ConfigOptions(config_options=options))

    def _mcp_server(self, params: Json) -> None:
        problem = self._servers.on_status(params)
        if problem is not None:
            self._editor.notice(self.id, "warning", problem)

    def _progress(self, step: Json) -> None:
        """Handles the progress of a command, of a recovery, or of another client's compaction."""
        status = _AUTO_STATUS.get(as_text(step.get("phase")), "in_progress")
        is_open = step.get("command") == "compact" and status == "in_progress"
        self._compaction_id = as_text(step.get("operationId")) if is_open else None
        if self.turn is not None and self.turn.is_cancelled:
            self._stop_compaction()
        if any(run.progress(step) for run in self._commands):
            return
        if step.get("command") == "overflow" and self.turn is not None:
            self.turn.progress(step)
        elif self._editor.capabilities.compaction and step.get("command") in (
            "compact",
            "overflow",
        ):
            self._editor.update(
                self.id, Compaction(compaction_id=as_text(step.get("operationId")), status=status)
            )
