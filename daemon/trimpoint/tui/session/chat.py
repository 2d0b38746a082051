"""The actions of the chat, over a connection that may be lost and restored."""

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Literal, TypeVar

import anyio
from trimpoint_protocol.client import (
    Client,
    ClientError,
    ConnectionLost,
    DeadlinePassed,
    RemoteError,
    new_command_id,
)
from trimpoint_protocol.methods import CancelParams, CancelResult, CommandInfo, CommandOutcome
from trimpoint_protocol.shapes.agent_sessions import ContinuedSession, SessionOverview
from trimpoint_protocol.shapes.history import HistoryHit

from trimpoint.cli.connection.connect import is_older_daemon
from trimpoint.cli.connection.refusals import without_login
from trimpoint.cli.exits import CliError, sole_error
from trimpoint.sessionlogs.homes import homes_to_send
from trimpoint.tui.model.popup import paths_of
from trimpoint.tui.model.prompt import SHELL, is_command
from trimpoint.tui.model.settings import settings_of
from trimpoint.tui.model.state import (
    ChatState,
    LinkState,
    Question,
    Tone,
    outcome_notice,
)
from trimpoint.tui.session import link
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.drafts import Drafts
from trimpoint.tui.session.following import Following
from trimpoint.tui.session.history import History
from trimpoint.tui.session.inquiries import Inquiries
from trimpoint.tui.session.prompts import NOT_CONNECTED, Prompts

T = TypeVar("T")
Scope = Literal["thread", "folder", "all"]
MAX_SESSIONS, MAX_FOUND = 300, 100
_CONNECTING_DEADLINE_S = 20.0


class Chat:
    """The actions of the keys. `run` maintains the connection; the results are in `state`."""

    def __init__(
        self, to_daemon: link.Link, state: ChatState, changes: Changes, drafts: Drafts | None = None
    ) -> None:
        self.state = state
        self.changes = changes
        self.drafts = drafts or Drafts(None)
        self.inquiries = Inquiries(state, self)
        self.history = History(state, changes, self)
        self.prompts = Prompts(state, changes, self, self.drafts)
        self._link = to_daemon
        self._client: Client | None = None
        self._following: Following | None = None
        self._is_settled = anyio.Event()
        self._said_version: str | None = None

    async def run(self) -> None:
        """Connects, and reconnects whenever the connection is lost, until cancelled."""
        while True:
            try:
                async with self._link.connected() as client:
                    await self._live(client)
            except (ClientError, CliError, OSError, BaseExceptionGroup) as raised:
                self._lost(sole_error(raised))
            await anyio.sleep(link.LOOK_AGAIN_S)

    def start_daemon(self) -> None:
        """Requests that a daemon is started if none runs."""
        if self.state.link is not LinkState.CONNECTED:
            self._link.start_one()

    async def _live(self, client: Client) -> None:
        with client.listen() as inbox:
            self._following = following = Following(client, inbox, self.state, self.changes)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._arrive, client, following)
                tasks.start_soon(following.keep_reading)
                tasks.start_soon(following.keep_joining)
                tasks.start_soon(client.connection.beat, link.SILENCE_S, link.PATIENCE_S)
                async for message in inbox:
                    following.take(message)

    def _lost(self, error: BaseException) -> None:
        if not isinstance(error, ClientError | CliError | OSError):
            raise error
        self._client, self._following = None, None
        state = self.state
        state.link = LinkState.LOST
        self._settle()
        state.link_problem = _problem(error)
        state.questions = []
        state.turn_id = None
        state.progress, state.operation_id = "", None
        self.changes.note()

    async def _arrive(self, client: Client, following: Following) -> None:
        """Loads the thread after connecting."""
        state = self.state
        try:
            if state.thread_id is not None:
                await following.begin()
        except RemoteError as error:
            state.notify(Tone.PROBLEM, str(error), error.hint)
        self._client = client
        state.link = LinkState.CONNECTED
        if state.notice == NOT_CONNECTED:
            state.notice = None
        self._say_version()
        self._settle()
        self.changes.note()
        with suppress(RemoteError):  # a Codex that does not know the method
            account = await client.request("account/read", {"refreshToken": False})
            if (problem := without_login(account)) is not None:
                state.notify(Tone.PROBLEM, problem.message, problem.hint)
                self.changes.note()

    def _say_version(self) -> None:
        """Says once of each older daemon that it is older."""
        version, said = self._link.version, self._said_version
        if is_older_daemon(version) and version != said and self.state.notice is None:
            self._said_version = version
            how = "Replace it: trimpoint daemon shutdown --when-idle"
            self.state.notify(Tone.NEUTRAL, f"An older daemon runs ({version}). {how}")

    def _settle(self) -> None:
        self._is_settled.set()
        self._is_settled = anyio.Event()

    # --- prompts and commands -------------------------------------------------------------------

    async def submit(self, text: str, *, is_later: bool = False) -> bool:
        """Sends a prompt or a command. While a turn runs, a prompt is added to it, or waits for its
        end if it `is_later`.

        :returns: whether the text was accepted; if not, a notice says why.
        """
        self.state.notice = None
        if text.startswith(SHELL) and text[1:].strip():
            return await self.prompts.run(text[1:].strip())
        if is_command(text):
            outcome = await self._command(text, new_command_id())
            if outcome is None or outcome.handled:
                return outcome is not None and not _can_be_repeated(outcome)
        return await self.prompts.send(text, is_later=is_later)

    async def prepare(self, client: Client) -> None:
        """Begins the thread if there is none, and subscribes to what Codex says about it."""
        if self.state.thread_id is None:
            await self._begin_thread(client)
        assert self._following is not None
        await self._following.join()

    async def reconnected(self) -> Client:
        """Returns the client, after waiting for the next connection if this one is lost."""
        while (client := self._client) is None or client.connection.is_lost:
            await self._is_settled.wait()
        return client

    async def _begin_thread(self, client: Client) -> None:
        answer = await client.request("thread/start", {"cwd": self.state.folder})
        thread_id = str(answer["thread"]["id"])
        self.state.outgoing = [
            one if one.thread_id else one._replace(thread_id=thread_id)
            for one in self.state.outgoing
        ]
        self.state.has_begun = True
        await self._open(thread_id, is_joined=True)
        self.state.settings = settings_of(answer)

    async def _command(self, text: str, command_id: str) -> CommandOutcome | None:
        """Runs a slash command; None if the daemon refused it. It is sent again under its id after
        a lost connection, and carried out once.
        """
        state, outcome = self.state, None
        state.command, thread_id = text, state.thread_id
        self.changes.note()
        try:
            while outcome is None:
                client = await self.reconnected()
                with suppress(ConnectionLost):
                    outcome = await client.execute(text, thread_id, command_id=command_id)
        except RemoteError as error:
            state.notify(Tone.PROBLEM, str(error), error.hint)
        finally:
            state.command, state.progress, state.operation_id = "", "", None
        if outcome is not None and outcome.handled:
            if outcome.new_thread_id:
                await self._open(outcome.new_thread_id, is_joined=True)
            state.notice = outcome_notice(outcome)
            if outcome.draft is not None:  # to be changed where prompts are typed
                state.drafted = f"{outcome.draft.accept} {outcome.draft.text}"
            if self._following is not None:
                self._following.want("threads", "context")
        self.changes.note()
        return outcome

    async def complete(self, text: str) -> list[CommandInfo]:
        """Returns the commands that `text` can become; empty while there is no connection."""
        if self._client is None:
            return []
        try:
            return await self._client.complete_command(text)
        except ClientError:
            return []

    async def find_files(self, words: str) -> list[str]:
        """Returns the files and folders of the thread's folder that `words` can stand for, the best
        first; empty while there is no connection.
        """
        if self._client is None:
            return []
        params = {"query": words, "roots": [self.state.folder], "cancellationToken": "chat"}
        try:
            return paths_of(await self._client.request("fuzzyFileSearch", params))
        except ClientError:
            return []

    async def interrupt(self) -> bool:
        """Interrupts the running turn or compaction; returns whether there was one."""
        state = self.state
        if state.operation_id is not None and state.turn_id is None:
            params = CancelParams(operation_id=state.operation_id)
            await self.attempt(
                lambda client: client.request("commands/cancel", params, result=CancelResult)
            )
            return True
        if state.turn_id is None:
            # The turn of a prompt that was taken just now: it is stopped as soon as it has begun.
            state.is_stopping = (state.busy or "").startswith("turn")
            return state.is_stopping
        await self.attempt(lambda client: self._interrupt_turn(client, str(state.turn_id)))
        return True

    async def _interrupt_turn(self, client: Client, turn_id: str) -> None:
        self.state.ends_questions = True
        try:
            await client.request(
                "turn/interrupt", {"threadId": self.state.thread_id, "turnId": turn_id}
            )
        except RemoteError:
            if self.state.turn_id == turn_id:
                raise
            self.state.notify(Tone.NEUTRAL, "The turn had ended already.", is_brief=True)

    def answer(self, question: Question, result: Any) -> None:
        """Answers a question of the agent."""
        if self._following is not None:
            self._following.answer(question, result)

    # --- history --------------------------------------------------------------------------------

    def read_newest(self) -> None:
        """Loads the newest page again after it was dropped."""
        if self._following is not None:
            self._following.want("timeline")

    async def reveal(self, hit: HistoryHit) -> str | None:
        """Opens the thread of a search result and loads the entry. Returns the entry's key; None if
        it no longer exists.
        """
        await self.open(hit.thread_id)
        key, first = f"{hit.turn_id}/{hit.entry_id}", await self.history.find_turn(hit.turn)
        return key if self.state.transcript.find(key) is not None else first

    # --- threads --------------------------------------------------------------------------------

    async def open(self, thread_id: str) -> None:
        """Shows another thread."""
        if thread_id != self.state.thread_id:
            self.state.notice = None
            await self.attempt(lambda _: self._open(thread_id))

    def open_new(self, folder: str) -> None:
        """Shows an empty thread, which is started with its first prompt."""
        self._leave()
        self.state.open(None, folder)
        self.state.notice = None
        self.changes.note()

    async def change_settings(self, changed: dict[str, Any]) -> None:
        """Changes settings of the thread, from its next turn on. It is begun if there is none."""

        async def change(client: Client) -> None:
            await self.prepare(client)
            params = {"threadId": self.state.thread_id, **changed}
            await client.request("thread/settings/update", params)

        await self.attempt(change)

    async def rename(self, thread_id: str, name: str) -> None:
        """Renames a thread."""
        await self._change("thread/name/set", threadId=thread_id, name=" ".join(name.split()))

    async def archive(self, thread_id: str, *, back: bool) -> None:
        """Archives a thread, or with `back` unarchives it."""
        await self._change("thread/unarchive" if back else "thread/archive", threadId=thread_id)

    async def fork(self, thread_id: str) -> None:
        """Forks a thread and shows the fork."""
        answer = await self._change("thread/fork", threadId=thread_id, excludeTurns=True)
        if answer is not None:
            new_id = str(answer["thread"]["id"])
            await self.attempt(lambda _: self._open(new_id, is_joined=True))
            self.state.notify(Tone.DONE, "This is a copy of the thread. The files are shared.")

    async def continue_session(self, session: SessionOverview) -> None:
        """Starts a thread with the context of another agent's session, and shows it."""
        params = {"sessionId": session.id, "agent": session.agent, **homes_to_send(os.environ)}
        done = await self.attempt(
            lambda client: client.request("sessions/continue", params, result=ContinuedSession)
        )
        self.state.progress = ""
        if done is None:
            return
        await self.attempt(lambda _: self._open(done.thread_id))
        left_out = f" Left out: {'; '.join(done.left_out)}." if done.left_out else ""
        said = f"Goes on from {session.agent}'s session with {done.turns} turns.{left_out}"
        self.state.notify(Tone.DONE, said)
        self.changes.note()

    async def _change(self, method: str, **params: Any) -> Any:
        answer = await self.attempt(lambda client: client.request(method, params))
        if self._following is not None:
            await self.attempt(lambda _: self._read_threads())
        return answer

    async def _read_threads(self) -> None:
        if self._following is not None:
            await self._following.read("threads")

    async def _open(self, thread_id: str, *, is_joined: bool = False) -> None:
        following = self._following
        assert following is not None
        self._leave()
        overview = next((one for one in self.state.threads if one.id == thread_id), None)
        self.state.open(thread_id, overview.cwd if overview else self.state.folder)
        if is_joined:
            following.joined(thread_id)
        await following.begin()
        if (found := self.state.overview) is not None:
            self.state.folder = found.cwd
        self.changes.note()

    def _leave(self) -> None:
        if self._following is not None and self.state.thread_id is not None:
            self._following.end(self.state.thread_id)

    async def awaited_client(self) -> Client | None:
        """Returns the client, or None if there is no connection; waits while the first connection
        is being made.
        """
        if self.state.link is LinkState.CONNECTING:
            with anyio.move_on_after(_CONNECTING_DEADLINE_S):
                await self._is_settled.wait()
        return self._client

    async def attempt(self, act: Callable[[Client], Awaitable[T]]) -> T | None:
        """Runs `act` with the client. If there is no connection, or the daemon refuses, shows a
        notice and returns None.
        """
        client = await self.awaited_client()
        if client is None:
            self.state.notice = NOT_CONNECTED
            self.changes.note()
            return None
        try:
            return await act(client)
        except RemoteError as error:
            self.state.notify(Tone.PROBLEM, str(error), error.hint)
        except ClientError:
            self.state.notify(Tone.PROBLEM, "The connection to the daemon was lost meanwhile.")
        self.changes.note()
        return None


def _problem(error: BaseException) -> str:
    if isinstance(error, ConnectionLost):
        return ""
    return "it does not answer" if isinstance(error, DeadlinePassed) else str(error)


def _can_be_repeated(outcome: CommandOutcome) -> bool:
    """Returns whether a command had no effect, so that the person may try it again."""
    return outcome.status == "failed" or outcome.blocker is not None
