"""Sends prompts: into the running turn, or into the thread's queue, which the daemon keeps.

Always true: a prompt is in `ChatState.outgoing` until the daemon has acknowledged it. It is sent
under one id, so it may be sent again after a lost connection, and is taken once.
"""

from typing import Protocol

import anyio
from trimpoint_protocol import commands as c
from trimpoint_protocol.client import Client, ClientError, RemoteError, new_command_id
from trimpoint_protocol.readmodel import QueuedPrompt

from trimpoint.tui.model.pasted import input_of
from trimpoint.tui.model.prompt import Outgoing
from trimpoint.tui.model.state import ChatState, Notice, Tone
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.drafts import Drafts
from trimpoint.tui.session.inquiries import Access

NOT_CONNECTED = Notice(
    Tone.PROBLEM, "The daemon is not there; nothing was sent.", "Ctrl+S starts one."
)


class Connection(Access, Protocol):
    """Access to the daemon, over connections that are lost and restored."""

    async def reconnected(self) -> Client:
        """Returns the client, after waiting for the next connection if this one is lost."""
        ...

    async def prepare(self, client: Client) -> None:
        """Begins the thread if there is none, and subscribes to what Codex says about it."""
        ...


class Prompts:
    """The prompts of the open thread."""

    def __init__(
        self, state: ChatState, changes: Changes, connection: Connection, drafts: Drafts
    ) -> None:
        self._state = state
        self._changes = changes
        self._connection = connection
        self._drafts = drafts
        self._in_order = anyio.Lock()

    async def send(self, text: str, *, is_later: bool) -> bool:
        """Sends a prompt: into the running turn, unless it `is_later`.

        :returns: whether the daemon has it; if not, a notice says why.
        """
        state, place = self._state, self._state.place
        again, rest = self._drafts.split(place, text)
        fresh = [Outgoing(new_command_id(), state.thread_id, rest if again else text)]
        prompts = [
            *(one._replace(thread_id=state.thread_id) for one in again),
            *(fresh if rest else ()),
        ]
        state.outgoing += prompts
        # Before anything is sent: the chat may be killed at any moment.
        self._drafts.keep(place, state.unsent(""), state.sent_here)
        self._changes.note()
        try:
            async with self._in_order:
                for at, sent in enumerate(prompts):
                    # What may have been sent before is taken once by the queue alone.
                    if not await self._accepted(sent.id, is_later=is_later or at < len(again)):
                        return False
                    self._drafts.has_arrived(place, sent)
                return True
        except RemoteError as error:
            state.notify(Tone.PROBLEM, str(error), error.hint)
            return False
        finally:
            ids = {one.id for one in prompts}
            state.outgoing = [one for one in state.outgoing if one.id not in ids]
            self._changes.note()

    async def run(self, command: str) -> bool:
        """Has Codex run a command in the person's shell, outside of its sandbox, and tell the agent
        of it; returns whether that began.
        """

        async def begin(client: Client) -> bool:
            await self._connection.prepare(client)
            params = {"threadId": self._state.thread_id, "command": command}
            await client.request("thread/shellCommand", params)
            return True

        return await self._connection.attempt(begin) is not None

    async def _accepted(self, sent_id: str, *, is_later: bool) -> bool:
        client = await self._connection.reconnected()
        sent, turn_id = self._state.sent(sent_id), self._state.turn_id
        is_for_turn = not is_later and sent.thread_id == self._state.thread_id
        if is_for_turn and turn_id is not None and await self._steer(client, sent, turn_id):
            return True
        while True:
            try:
                return await self._queue(client, sent_id)
            except RemoteError:
                raise
            except ClientError:
                client = await self._connection.reconnected()

    async def _steer(self, client: Client, sent: Outgoing, turn_id: str) -> bool:
        """Adds a prompt to the turn; returns False if the turn takes none, or has ended, or if the
        connection was lost: the turn may have it then, and the queue takes it once, under its id.
        """
        state = self._state
        state.steered[sent.id] = sent.text
        params = {
            "threadId": sent.thread_id, "expectedTurnId": turn_id, "input": input_of(sent.text),
            "clientUserMessageId": sent.id,
        }  # fmt: skip
        try:
            await client.request("turn/steer", params)
        except ClientError:
            state.steered.pop(sent.id, None)
            if sent.text in state.returned:  # the turn has ended meanwhile
                state.returned.remove(sent.text)
            return False
        return True

    async def _queue(self, client: Client, sent_id: str) -> bool:
        """Puts a prompt into the queue; returns False if it was for a thread to come, and the
        person has gone to another one.
        """
        state = self._state
        if state.sent(sent_id).thread_id is None and state.thread_id is not None:
            return False
        if state.sent(sent_id).thread_id == state.thread_id:
            await self._connection.prepare(client)
        _, thread_id, text = state.sent(sent_id)
        assert thread_id is not None
        command = c.QueuePrompt(
            command_id=sent_id,
            thread_id=thread_id,
            input=input_of(text),
            client_user_message_id=sent_id,
        )
        await client.dispatch(command)
        return True

    # --- the prompts that wait ------------------------------------------------------------------

    async def withdraw(self, prompt: QueuedPrompt) -> bool:
        """Takes a prompt out of the queue; returns whether it was there."""
        command = c.WithdrawQueuedPrompt(
            command_id=new_command_id(), thread_id=self._thread_id, prompt_id=prompt.id
        )
        return await self._dispatched(command)

    async def put_first(self, prompts: list[QueuedPrompt]) -> bool:
        """Gives the queue another order; returns whether that succeeded."""
        command = c.ReorderQueue(
            command_id=new_command_id(), thread_id=self._thread_id,
            prompt_ids=[one.id for one in prompts],
        )  # fmt: skip
        return await self._dispatched(command)

    async def release(self) -> bool:
        """Has the prompts of a queue that is held sent; returns whether that succeeded."""
        command = c.ReleaseQueue(command_id=new_command_id(), thread_id=self._thread_id)
        return await self._dispatched(command)

    async def _dispatched(self, command: c.AnyClientCommand) -> bool:
        return await self._connection.attempt(lambda client: client.dispatch(command)) is not None

    @property
    def _thread_id(self) -> str:
        assert self._state.thread_id is not None
        return self._state.thread_id
