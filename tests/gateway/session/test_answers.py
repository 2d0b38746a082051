"""What counts as an answer to a request of Codex, against the answers that the very binary
describes (docs/spec/clients.md).
"""

from typing import Any

import msgspec
import pytest
from msgspec import Raw
from trimpoint.gateway.session.answers import (
    ANSWERS,
    MAX_ANSWER_BYTES,
    allows,
    is_for_session,
    read_answer,
)

from tests.e2e.conftest import CODEX_BIN
from tests.gateway.codex_schema import CodexSchema

COMMAND, FILES = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
PERMISSIONS = "item/permissions/requestApproval"


def is_answer(method: str, result: Any) -> bool:
    return read_answer(method, Raw(msgspec.json.encode(result))) is not None


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> CodexSchema:
    return CodexSchema.of(str(CODEX_BIN), tmp_path_factory.mktemp("schema"))


@pytest.mark.codex
def test_every_answer_that_codex_describes_is_one(schema: CodexSchema) -> None:
    described = schema.answers_to_questions()
    assert described.keys() <= ANSWERS.keys()
    samples = [(method, one) for method, of in described.items() for one in schema.samples(of)]
    assert [(method, one) for method, one in samples if not is_answer(method, one)] == []
    assert len(samples) > 30


@pytest.mark.codex
def test_an_answer_needs_all_that_codex_needs(schema: CodexSchema) -> None:
    for method, of in schema.answers_to_questions().items():
        [whole, *_] = schema.samples(of)
        for name in of.get("required", ()):
            lacking = {key: value for key, value in whole.items() if key != name}
            assert not is_answer(method, lacking)


@pytest.mark.each_case(reason="each row is another question")
@pytest.mark.codex
@pytest.mark.parametrize("method", [COMMAND, FILES, "mcpServer/elicitation/request"])
def test_a_word_that_codex_does_not_know_is_no_answer(schema: CodexSchema, method: str) -> None:
    samples = schema.samples(schema.answers_to_questions()[method])
    [name] = {name for one in samples for name in one} & {"decision", "action"}
    words = {one[name] for one in samples if isinstance(one[name], str)}
    assert [word for word in words if is_answer(method, {name: f"{word}?"})] == []
    assert len(words) >= 3


def test_a_word_as_the_only_member_of_an_object_is_that_word() -> None:
    assert is_answer(COMMAND, {"decision": {"accept": None}})
    assert not is_answer(COMMAND, {"decision": {"accept": None, "decline": None}})
    assert not is_answer(COMMAND, {"decision": {}})


def test_only_the_answer_of_a_tool_may_have_megabytes() -> None:
    megabytes = "x" * MAX_ANSWER_BYTES
    assert not is_answer(COMMAND, {"decision": "accept", "note": megabytes})
    image = {"type": "inputImage", "imageUrl": f"data:image/png;base64,{megabytes}"}
    assert is_answer("item/tool/call", {"contentItems": [image], "success": True})


def test_any_object_answers_a_request_that_is_not_known() -> None:
    assert is_answer("new/request", {})
    assert not is_answer("new/request", None)


@pytest.mark.parametrize(
    ("method", "result", "expected"),
    [
        (COMMAND, {"decision": "acceptForSession"}, True),
        (COMMAND, {"decision": {"acceptForSession": None}}, True),
        (FILES, {"decision": "acceptForSession"}, True),
        ("execCommandApproval", {"decision": "approved_for_session"}, True),
        (PERMISSIONS, {"permissions": {}, "scope": "session"}, True),
        (PERMISSIONS, {"permissions": {}}, False),
        (COMMAND, {"decision": "accept", "note": "acceptForSession"}, False),
        ("attestation/generate", {"token": "acceptForSession"}, False),
    ],
)
def test_an_answer_says_whether_it_holds_for_the_session(
    method: str, result: Any, expected: bool
) -> None:
    answer = read_answer(method, Raw(msgspec.json.encode(result)))
    assert answer is not None
    assert is_for_session(answer) is expected


@pytest.mark.parametrize(
    ("method", "result", "expected"),
    [
        (COMMAND, {"decision": "accept"}, True),
        (COMMAND, {"decision": "acceptForSession"}, True),
        (COMMAND, {"decision": "decline"}, False),
        (FILES, {"decision": "cancel"}, False),
        (FILES, {"decision": "accept"}, True),
        (PERMISSIONS, {"permissions": {}}, False),
        (PERMISSIONS, {"permissions": {"network": {"enabled": True}}}, True),
        ("item/tool/requestUserInput", {"answers": {}}, True),
    ],
)
def test_what_an_answer_lets_the_agent_do(method: str, result: Any, expected: bool) -> None:
    answer = read_answer(method, Raw(msgspec.json.encode(result)))
    assert answer is not None
    assert allows(answer) is expected
