"""What the model is shown where turns in the middle have left the context."""

from tests.e2e.conversation import Conversation
from tests.e2e.expectation import Piece, pieces


async def next_input(talk: Conversation) -> list[Piece]:
    """Runs another turn, and returns the model's input before its prompt."""
    return pieces((await talk.turn()).input)[:-1]


def of_turns(*numbers: int, called: int) -> list[Piece]:
    """Returns what the model is shown of these turns, of which the first `called` ran a command."""
    shown: list[Piece] = []
    for number in numbers:
        word = f"tool-output-{number}"
        ran = [Piece("call", f"echo {word}"), Piece("output", word)] if number <= called else []
        shown += [Piece("user", f"prompt-{number}."), *ran, Piece("assistant", f"answer-{number}.")]
    return shown
