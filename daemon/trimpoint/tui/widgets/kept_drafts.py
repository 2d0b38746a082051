"""What stands in the prompt beside what a person types there: the draft that was kept, prompts that
come back, and drafts of the model.
"""

from trimpoint.tui.model.state import ChatState, Tone
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.widgets.composer import Composer

_DRAFTED = "↑ in an empty prompt brings the draft, to be changed and sent."


class KeptDrafts:
    """Keeps the drafts of a chat's threads. Nothing is put before what a person has typed."""

    def __init__(self, chat: Chat, composer: Composer) -> None:
        self._chat = chat
        self._composer = composer
        self._place = ""
        self._held = ""

    @property
    def _state(self) -> ChatState:
        return self._chat.state

    def take_state(self) -> None:
        """Puts into the prompt what the state has for it."""
        self._change_place()
        self._take_returned()
        self._take_drafted()

    def hold(self) -> None:
        """Takes the draft out of the prompt: what was typed into the first screen was typed into an
        empty one.
        """
        self._held, self._composer.text = self._composer.whole_text, ""

    def give_back(self) -> None:
        """Puts the draft behind what was typed into the first screen."""
        held, self._held = self._held, ""
        if held:
            self._composer.put(_joined(self._composer.whole_text, held))

    def _change_place(self) -> None:
        """Keeps the draft of the thread that was left, and takes up that of the one that is shown.
        A thread that begins with a prompt takes what is typed meanwhile along.
        """
        place, before = self._state.place, self._place
        if place == before:
            return
        self._place = place
        if self._state.has_begun:
            self._state.has_begun = False
            self._chat.drafts.keep(before, "")
            return
        if before:
            self._chat.drafts.keep(before, _joined(self._composer.typed_text, self._held))
        self._held = ""
        self._composer.put(self._chat.drafts.read(place))

    def _take_returned(self) -> None:
        if self._state.returned:
            self._composer.put_before("\n\n".join(self._state.returned))
            self._state.returned = []

    def _take_drafted(self) -> None:
        """Offers a draft in the prompt; what is typed there stays, and ↑ brings the draft."""
        drafted, self._state.drafted = self._state.drafted, ""
        if drafted and self._composer.text.strip():
            self._composer.prompts.add(drafted)
            self._state.notify(Tone.DONE, "It is drafted, and nothing has changed.", _DRAFTED)
        elif drafted:
            self._composer.put(drafted)

    def keep(self) -> None:
        """Keeps the draft of the thread that is shown."""
        if self._place == self._state.place:
            unsent = self._state.unsent(_joined(self._composer.typed_text, self._held))
            self._chat.drafts.keep(self._place, unsent, self._state.sent_here)


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text.strip())
