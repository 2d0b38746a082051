"""What can be typed, and what wrong input is told."""

import json
import subprocess
import sys

import pytest
from trimpoint.cli.daemon_commands import app_server
from trimpoint.cli.exits import CliError, Exit, UsageError, sole_error
from trimpoint.cli.main import main
from trimpoint.cli.parsing.arguments import parse

HEAVY = ("anyio", "rich", "msgspec", "orjson", "structlog", "trimpoint.app")


@pytest.mark.processes
def test_help_imports_nothing_heavy_and_documents_the_exit_codes() -> None:
    program = f"""
import sys
from trimpoint.cli.main import main
try:
    main(["--help"])
finally:
    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    for line in ("0  done", "2  typed wrong", "3  skipped", "4  no daemon answers"):
        assert line in done.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "COMMAND"),
        ("statsu", "Did you mean status?"),
        ("clear abc", "N takes the number of turns to keep, 0 to 1,000,000, not 'abc'"),
        ("clear -1", "not '-1'"),
        ("clear 3 fix", "trimpoint clear does not take 'fix'"),
        ("compact --keep x", "--keep takes the number of turns"),
        ("compact --kep 2", "trimpoint compact does not take '--kep'. See trimpoint compact --help"),
        ("timeline --limit 0", "--limit takes a number, 1 to 1,000,000"),
        ("serve -c model", "-c takes KEY=VALUE"),
        ("probe a/b --follow soon", "--follow takes a number of seconds"),
        ("probe", "METHOD, or --prompt TEXT"),
        ("probe a/b --prompt x", "METHOD, or --prompt TEXT"),
        ("probe --prompt  --until x", "prompt is empty"),
        ("probe --prompt x --until y", "go with a METHOD"),
        ("probe a/b {", "are not JSON"),
        ("probe a/b []", "but not an object"),
        ("app-server --listen ws://0.0.0.0:1", "listens on stdio:// only, not on 'ws://0.0.0.0:1'"),
        ("app-server --port 3", "does not take '--port'"),
        ("-c nonsense app-server", "-c takes KEY=VALUE"),
    ],
)
def test_wrong_input_is_a_sentence_and_exit_code_2(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split(" ") if line else []) == Exit.USAGE
    captured = capsys.readouterr()
    assert words in " ".join(captured.err.split())
    assert captured.out == ""


def test_wrong_input_with_json_is_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clear", "abc", "--json"]) == Exit.USAGE
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert error["reason"] == "usage"
    assert "'abc'" in error["message"]
    assert captured.err == ""


def test_guidance_may_follow_options() -> None:
    parsed = parse(["compact", "--keep", "2", "--force", "mind", "the", "tests"])
    assert (parsed.keep, parsed.force, parsed.guidance) == (2, True, ["mind", "the", "tests"])


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("app-server", True),
        ("-c a=b --config c=d app-server --listen stdio://", True),
        ("--config=a=b --enable x app-server", True),
        ("--model x -a never --sandbox=read-only --search app-server", True),
        ("--model app-server", False),
        ("serve -c a=app-server", False),
        ("-c app-server", False),
        ("status", False),
        ("", False),
    ],
)
def test_a_command_line_for_codex_is_told_from_ours(line: str, meant: bool) -> None:
    assert app_server.is_meant(line.split()) is meant


def test_every_form_of_override_reaches_codex_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    import trimpoint.cli.daemon_commands.stdio

    seen: list[list[str]] = []
    monkeypatch.setattr(trimpoint.cli.daemon_commands.stdio, "run", lambda arguments: seen.append(arguments.overrides) or 0)
    line = "--config a=1 -cb=2 app-server --listen=stdio:// --stdio -c c=3=4 --config=d=5 --enable e --disable=f"
    assert main(line.split()) == 0
    assert seen == [["a=1", "b=2", "c=3=4", "d=5", "features.e=true", "features.f=false"]]


def test_what_codex_takes_without_effect_is_taken_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import trimpoint.cli.daemon_commands.stdio

    seen: list[list[str]] = []
    monkeypatch.setattr(trimpoint.cli.daemon_commands.stdio, "run", lambda arguments: seen.append(arguments.overrides) or 0)
    line = "-mx --model y --dangerously-bypass-approvals-and-sandbox -c a=1 app-server --analytics-default-enabled"
    assert main(line.split()) == 0
    assert seen == [["a=1"]]


def test_the_version_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("trimpoint ")


def test_a_bad_configuration_names_line_and_nearest_key(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    file = f"{tmp_path}/config.toml"
    with open(file, "w", encoding="utf-8") as opened:
        opened.write('[codex]\npth = "/x"\n')
    assert main(["status", "--config", file]) == Exit.USAGE
    said = capsys.readouterr().err
    assert f"{file}:2: unknown key 'codex.pth'." in said
    assert "Did you mean 'path'?" in said


def test_a_codex_that_is_none_is_said_with_what_to_do(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--state-dir", f"{tmp_path}/s", "--codex", f"{tmp_path}/nothing"]) == Exit.FAILED
    said = capsys.readouterr().err
    assert "cannot be used as Codex: there is no such file" in said
    assert "--codex" in said


def test_of_nested_groups_only_a_sole_kind_of_error_is_taken_out() -> None:
    error = UsageError("no")
    assert sole_error(BaseExceptionGroup("a", [BaseExceptionGroup("b", [error])])) is error
    assert sole_error(BaseExceptionGroup("a", [error, UsageError("no, either")])) is error
    several = BaseExceptionGroup("a", [error, CliError("other")])
    assert sole_error(several) is several
