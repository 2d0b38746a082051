"""A refusal of the gateway, of an operation or of the fleet says what to do: in a hint of its own, in
that of its reason, or in its sentence.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import trimpoint
from trimpoint.gateway.session.requests.errors import DEFAULT_HINTS
from trimpoint_protocol.errors import Reason

ROOMS = ("gateway", "operations", "threads", "recall", "fleet")
# The calls that make a refusal, and where their hint is.
HINT_AT = {"Refusal": 2, "wire_error": 2, "not_steerable": 2}
HINTS_NAMED = {"CommandRefused", "failed_outcome"}
# Only a program can make these mistakes, and its author reads the sentence.
OF_PROGRAMS = {"INVALID_PARAMS", "ALREADY_INITIALIZED"}

SAID = "the sentence itself says what to do, or when"
CORE = "a refusal of the core with the hints of the core"
WITHOUT_A_HINT = {
    ("slash_runner", "run", "USAGE"): SAID,
    ("slash_outcomes", "summary_to_edit", "*standing"): CORE,
    ("slash_runner", "_summary", "USAGE"): SAID,
    ("slash_runner", "_rehearse", "*decision"): CORE,
    ("slash_runner", "_preview", "*shown"): CORE,
    ("slash_runner", "_preview", "*shown.refusal"): CORE,
    ("queue_methods", "_start", "refusal.reason"): CORE,
    ("sessions", "_ready", "*refusal"): CORE,
    ("phases", "journal_phase_deferred", "*outcome"): CORE,
    ("writer", "execute", "*outcome"): CORE,
    ("history_searches", "run", "USAGE"): SAID,
    ("gateway", "_use_profile", "NOT_SUPPORTED"): SAID,
    ("interrupts", "_interrupt_command", "NOT_SUPPORTED"): SAID,
    ("version_requirements", "refuse_if_too_old", "NOT_SUPPORTED"): SAID,
}
"""The refusals without a hint, by module, function and reason, and why."""


def _calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Yields the calls that make refusals, with their modules and functions."""
    package = Path(trimpoint.__file__).parent
    for path in (one for room in ROOMS for one in sorted((package / room).rglob("*.py"))):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for call in ast.walk(function):
                    if isinstance(call, ast.Call):
                        yield path.stem, function.name, call


def test_every_refusal_has_a_hint_or_is_listed_with_the_reason_why_not() -> None:
    bare, count = set[tuple[str, str, str]](), 0
    for module, function, call in _calls():
        name = ast.unparse(call.func)
        if name not in HINT_AT and name not in HINTS_NAMED:
            continue
        count += 1
        place = 1 if name == "failed_outcome" else 0
        reason = ast.unparse(call.args[place]).removeprefix("Reason.") if call.args else ""
        has_hint = len(call.args) > HINT_AT.get(name, 99)
        has_hint = has_hint or any(one.arg == "hints" for one in call.keywords)
        has_default = reason in Reason.__members__ and Reason[reason] in DEFAULT_HINTS
        if not has_hint and not has_default and reason not in OF_PROGRAMS:
            bare.add((module, function, reason))
    assert count > 100
    assert bare == set(WITHOUT_A_HINT)
