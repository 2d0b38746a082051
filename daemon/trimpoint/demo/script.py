"""The conversation of the demo: the person's prompts, and the scripted model's answers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from trimpoint.testkit import ModelRequest, Reply, call, run, say

FILE = "greet.py"
NAMES = "names.txt"
NAMES_TEXT = "".join(f"Hello, Ada {number} of the house of names!\n" for number in range(1, 221))
"""Long enough for the context to shrink visibly when it leaves."""
BEFORE = 'def greet():\n    return "Hello!"\n'
AFTER = 'def greet(name):\n    return f"Hello, {name}!"\n'
SUMMARY = (
    "greet.py holds one function, greet. It used to take nothing; it now takes a name and returns "
    "a greeting with it. "
    "The user wants Python 3.8 to work and no dependencies. Open: nothing documents greet yet."
)


class Line(NamedTuple):
    """One turn: a prompt, the commands that the model runs and their output, and its answer."""

    prompt: str
    answer: str
    commands: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()

    def replies(self) -> list[Reply]:
        """Returns the replies of the scripted model, one for each request."""
        calls = [run(command) for command in self.commands]
        return [*calls, say(self.answer)]

    def texts(self) -> list[str]:
        """Returns the texts of the turn that can be found in the model's input."""
        return [self.prompt, self.answer, *self.printed]


OPENING = (
    Line(
        "What is in this project?",
        "One module, greet.py, with a single function, and a list of names.",
        (f"cat {FILE} {NAMES}",),
        ('return "Hello!"', "Hello, Ada 1"),
    ),
    Line("It must run on Python 3.8, mind that.", "Noted: nothing newer than 3.8."),
    Line("Would a template library help here?", "No, the standard library is enough."),
    Line("Good. No dependencies then.", "Agreed, none."),
    Line(
        "Let greet take a name.",
        "Done: greet(name) returns the greeting with the name in it.",
        (
            f"printf '%s\\n' 'def greet(name):' '    return f\"Hello, {{name}}!\"' > {FILE}",
            f"cat {FILE}",
        ),
        ('return f"Hello, {name}!"',),
    ),
    Line("Is it documented anywhere?", "Not yet: there is neither a docstring nor a README."),
)
SHORT = (*OPENING[:3], *OPENING[4:])
"""The opening of the demo that fits on one screen."""
AFTER_CLEAR = Line(
    "What did you change just now?", "greet takes a name now; I saw nothing else of this session."
)
PINNED, PIN, CLEAR = OPENING[1], "/pin 2", "/clear 2"
AFTER_UNDO = Line("Do you remember how we began?", "Yes: you asked what is in this project.")
AFTER_COMPACT = Line("Which Python do we support?", "Python 3.8, as the summary says.")
AFTER_NEW = Line("What do you know about this project?", "Nothing yet; shall I look at the files?")

FORGOTTEN = OPENING[-1].answer
LOOKED_UP = Line(
    "What did you say about documentation?",
    "That there is neither a docstring nor a README.",
    ("search_history documented", "read_history …"),
)


def looking_up() -> list[Reply | Callable[[ModelRequest], Reply]]:
    """Returns the replies with which the model looks up the answer that has left its context."""
    return [
        call("search_history", {"query": "docstring README"}),
        lambda request: call("read_history", {"id": _first_found(request)}),
        say(LOOKED_UP.answer),
    ]


def _first_found(request: ModelRequest) -> str:
    outputs = [item for item in request.input if item["type"] == "function_call_output"]
    output: Any = outputs[-1]["output"]
    text = output if isinstance(output, str) else output[0]["text"]
    found = msgspec.json.decode(text)["found"]
    return str(found[0]["id"])
