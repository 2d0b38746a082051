"""The types that the web UI is checked against are made from the registry."""

from pathlib import Path

from trimpoint_protocol.schema import typescript
from trimpoint_protocol.schema.typescript import declarations

PAGE = Path(__file__).parents[2] / "web" / "app" / "protocol.d.ts"


def test_the_types_of_the_page_are_those_of_the_registry() -> None:
    assert PAGE.read_text(encoding="utf-8") == declarations(), "run scripts/generate-docs"


def test_a_struct_is_an_object_type_with_its_description() -> None:
    text = declarations()
    assert (
        "/**\n * Names a thread.\n */\nexport type ThreadParams = {\n    threadId: string;\n};\n"
        in text
    )
    assert "export type NoParams = Record<string, never>;" in text
    assert '    level: "critical" | "ok" | "warning" | null;\n' in text
    assert "    dryRun?: boolean;\n" in text


def test_every_kind_of_schema_has_its_type() -> None:
    of = typescript.type_of
    assert of({"type": "array", "items": {"type": "integer"}}) == "number[]"
    assert of({"type": "array"}) == "any[]"
    assert of({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}) == (
        "(string | null)[]"
    )
    assert of({"type": "object"}) == "Record<string, any>"
    assert of({"type": "object", "additionalProperties": {"type": "number"}}) == (
        "Record<string, number>"
    )
    assert of({"enum": ["a", None]}) == '"a" | null'
    assert of({"$ref": "#/$defs/Thing"}) == "Thing"
    assert of({}) == "any"
    assert "".join(typescript.comment("")) == ""
