"""A command is declared once: no other module has a list of commands, and what names one names a
command that exists.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import trimpoint
import trimpoint_protocol
from trimpoint.core.commands.declaration import Change, Command, Reading
from trimpoint.core.commands.parsing import UsageError, parse
from trimpoint.core.commands.registry import REGISTRY, help_text
from trimpoint.core.model.spelling import Spelling

DAEMON, PROTOCOL = (Path(str(one.__file__)).parent for one in (trimpoint, trimpoint_protocol))
DECLARATIONS = DAEMON / "core" / "commands"
NAMES = "|".join(REGISTRY)
# Not a path, a tag or an address.
MENTION = re.compile(rf"(?<![\w/.~<{{}}-])[/:](?:{NAMES})\b(?![/\w-])[^;.,]*")
QUOTED = re.compile(rf"[\"|]({NAMES})[\"|]")
HINT = "names the command that helps on, for `CommandHint`"
FACE = "a face says what to type there"
MAY_NAME = {
    "acp/translate/turn_choice.py": FACE,
    "acp/translate/endings.py": FACE,
    "cli/parsing/machine_arguments.py": "the help of the demo says what it shows",
    "core/decide/auto_compaction.py": HINT,
    "core/decide/discarding.py": HINT,
    "core/decide/drafts.py": HINT,
    "core/decide/pinning.py": HINT,
    "core/decide/reverting.py": HINT,
    "core/decide/revisions.py": HINT,
    "core/decide/stretches.py": HINT,
    "core/decide/summaries.py": HINT,
    "core/decide/trimming.py": HINT,
    "core/decide/undoing.py": HINT,
    "core/model/decision.py": HINT,
    "core/views/advice.py": HINT,
    "core/views/outcome_text.py": HINT,
    "core/views/auto_view.py": HINT,
    "core/views/pins_view.py": HINT,
    "core/views/summary_view.py": HINT,
    "core/views/trim_outcome.py": "names the trim that was undone, and the command that undoes one",
    "demo/script.py": "types commands",
    "demo/story.py": "types commands",
    "gateway/commands/codex_tui/clear_hint.py": FACE,
    "gateway/commands/typed_commands.py": "Codex's own /new",
    "gateway/commands/views/history_searches.py": "the answer of the command itself",
    "operations/messages.py": "the message of a failed turn, which the journal keeps",
    "sessionlogs/claude/clears.py": "commands of Claude Code",
    "sessionlogs/gemini/clears.py": "commands of Gemini CLI",
    "sessionlogs/gemini/prompt_log.py": "commands of Gemini CLI",
    "tui/widgets/inspection_screen.py": FACE,
    "tui/widgets/transcript_view.py": FACE,
    "tui/widgets/turn_picker.py": "types the command for the turn that was chosen",
}
OTHERS = ("sessionlogs/",)
MAY_LIST = {
    "core/views/stats_text.py": "triggers of trims, as journals have them",
    "core/views/trim_outcome.py": "triggers of trims, as journals have them",
    "gateway/commands/codex_tui/trim_notices.py": "kinds of operations",
}


@cache
def sources() -> list[tuple[str, ast.Module]]:
    """Returns the modules that may name commands, parsed."""
    found: list[tuple[str, ast.Module]] = []
    for root in (DAEMON, PROTOCOL):
        for path in sorted(root.rglob("*.py")):
            source = path.read_text()
            several = len(set(QUOTED.findall(source))) > 2
            if DECLARATIONS not in path.parents and (several or MENTION.search(source)):
                found.append((str(path.relative_to(root)), ast.parse(source)))
    return found


def texts(tree: ast.AST) -> list[str]:
    """Returns the strings of a tree but for docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


def listed(tree: ast.AST) -> bool:
    """Returns whether a module has a collection or a pattern with three or more commands."""
    groups = [
        node.keys if isinstance(node, ast.Dict) else node.elts
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict)
    ]
    values = [{item.value for item in one if isinstance(item, ast.Constant)} for one in groups]
    patterns = [set(re.findall(r"\w+", text)) for text in texts(tree) if "|" in text]
    return any(len(found & set(REGISTRY)) > 2 for found in [*values, *patterns])


def test_only_the_declarations_and_known_places_name_commands() -> None:
    naming = {name for name, tree in sources() if any(map(MENTION.search, texts(tree)))}
    assert naming == set(MAY_NAME)


def test_no_other_module_has_a_list_of_commands() -> None:
    assert {name for name, tree in sources() if listed(tree)} == set(MAY_LIST)


def test_what_is_named_exists_and_is_spelled_right() -> None:
    for name, tree in sources():
        for text in texts(tree) if not name.startswith(OTHERS) else ():
            typed = MENTION.match(text)
            # The last one of an f-string is followed by its argument.
            if typed is not None and not text.endswith((" ", "keep ")) and " N" not in text:
                found = parse(typed[0])
                assert isinstance(found, Command | UsageError), (name, text)


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=list(REGISTRY))
def test_each_declaration_is_whole(kind: type[Command]) -> None:
    assert kind.usage().split()[0] == f"/{kind.command}"
    assert kind.summary[0].isupper()
    assert not kind.summary.endswith(".")
    assert kind.explanation().endswith(".")
    assert "{" not in kind.explanation(Spelling.SHELL) + help_text(kind.command)
    assert kind.is_change == issubclass(kind, Change)
    for argument in kind.arguments().values():
        assert argument.help


def test_a_menu_begins_with_what_changes_nothing() -> None:
    kinds = [kind.is_change for kind in REGISTRY.values() if kind.command != "help"]
    assert kinds == sorted(kinds)


@pytest.mark.parametrize("base", [Reading, Change])
def test_a_base_class_alone_does_nothing(base: type[Command]) -> None:
    todo = base.answer if issubclass(base, Reading) else base.request
    with pytest.raises(NotImplementedError):
        todo(*[None] * (todo.__code__.co_argcount))
