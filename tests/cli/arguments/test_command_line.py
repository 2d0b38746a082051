"""The command line's syntax, and its messages for wrong input."""

import argparse
import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trimpoint.cli.daemon_commands import version
from trimpoint.cli.daemon_commands.completion import candidates
from trimpoint.cli.exits import CliError, Exit, UsageError, sole_error
from trimpoint.cli.json_output import print_json, write_text
from trimpoint.cli.main import main
from trimpoint.cli.programs import app_server
from trimpoint.config.loading import parse_config


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("journal", "trimpoint daemon journal needs ACTION."),
        (
            "ask -s x y",
            "--sandbox takes one of read-only, workspace-write, danger-full-access, not x",
        ),
        ("completion tcsh", "completion: shell takes one of bash, zsh, fish, not tcsh"),
        ("journal", "There are: inspect, verify, repair, expire, export."),
        ("rename", "trimpoint threads rename needs NAME. See trimpoint threads rename --help."),
        ("delete", "trimpoint threads delete needs a THREAD."),
        ("-x", "trimpoint does not take '-x'. See trimpoint --help."),
        ("statuss", "Did you mean daemon status? trimpoint help all lists all commands."),
        ("timelin", "Did you mean timeline?"),
        ("threads renam x", "There are: list, rename, fork, archive, unarchive, delete."),
        ("timeline --expand", "--expand takes a value."),
        ("clear abc", "0 to 1,000,000, or turns such as 4..12, not 'abc'"),
        ("clear -1", "not '-1'"),
        ("clear 3 fix", "trimpoint clear does not take 'fix'"),
        ("compact --keep x", "--keep takes the number of turns"),
        (
            "compact --kep 2",
            "trimpoint compact does not take '--kep'. See trimpoint compact --help",
        ),
        ("timeline --limit 0", "--limit takes a number, 1 to 1,000,000"),
        ("serve -c model", "-c takes KEY=VALUE"),
        ("probe a/b --follow soon", "--follow takes a number of seconds"),
        ("probe", "METHOD, or --prompt TEXT"),
        ("probe a/b --prompt x", "METHOD, or --prompt TEXT"),
        ("probe --prompt  --until x", "prompt is empty"),
        ("probe --prompt x --until y", "go with a METHOD"),
        ("probe a/b {", "are not JSON"),
        ("probe a/b []", "but not an object"),
        ("app-server --listen ws://0.0.0.0:1", "can be reached from other machines"),
        ("app-server --listen ws://somewhere", "is not an address and port"),
        ("app-server --listen tcp://127.0.0.1:1", "does not listen on 'tcp://127.0.0.1:1'"),
        ("app-server proxy --port 3", "does not take '--port 3'"),
        ("app-server --port 3", "does not take '--port'"),
        ("-c nonsense app-server", "-c takes KEY=VALUE"),
    ],
)
def test_wrong_input_is_a_sentence_and_exit_code_2(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
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
def test_a_command_line_for_codex_is_distinguished_from_ours(line: str, meant: bool) -> None:
    assert app_server.is_meant(line.split()) is meant


def test_every_form_of_override_reaches_codex_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    import trimpoint.cli.programs.stdio

    seen: list[list[str]] = []

    def take(arguments: argparse.Namespace) -> int:
        seen.append(arguments.overrides)
        return 0

    monkeypatch.setattr(trimpoint.cli.programs.stdio, "run", take)
    line = "--config a=1 -cb=2 app-server --listen=stdio:// --stdio -c c=3=4 --config=d=5 --enable e --disable=f"
    assert main(line.split()) == 0
    assert seen == [["a=1", "b=2", "c=3=4", "d=5", "features.e=true", "features.f=false"]]


def test_options_that_have_no_effect_on_app_server_are_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import trimpoint.cli.programs.stdio

    seen: list[list[str]] = []

    def take(arguments: argparse.Namespace) -> int:
        seen.append(arguments.overrides)
        return 0

    monkeypatch.setattr(trimpoint.cli.programs.stdio, "run", take)
    line = "-mx --model y --dangerously-bypass-approvals-and-sandbox -c a=1 app-server --analytics-default-enabled"
    assert main(line.split()) == 0
    assert seen == [["a=1"]]


@pytest.mark.processes
@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_names_all_that_a_report_needs(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([option]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["trimpoint", "Python", "Codex", "protocol:"]


CODEX_STANDS_IN = """#!/bin/sh
echo "codex got: $*"
"""


@pytest.mark.each_case(reason="each row is another command")
@pytest.mark.processes
@pytest.mark.parametrize(
    ("program", "line", "got"),
    [
        ("trimpoint", "login --device-auth", "login --device-auth"),
        ("trimpoint", "-m gpt-5 exec hello", "-m gpt-5 exec hello"),
        ("trimpoint", "codex doctor", "doctor"),
        ("trimpoint", "codex", ""),
        ("trimpoint", "app-server daemon stop", "app-server daemon stop"),
        ("trimpoint", "app-server --version", "--version"),
        ("codex", "--version", "--version"),
        ("codex", "", ""),
        ("codex", "resume --last", "resume --last"),
        ("codex", "status", "status"),
    ],
)
def test_commands_of_codex_are_handed_to_codex(
    tmp_path: Path, program: str, line: str, got: str
) -> None:
    stand_in = tmp_path / "real"
    stand_in.write_text(CODEX_STANDS_IN)
    stand_in.chmod(0o755)
    called = tmp_path / program
    called.write_text(
        f"#!{sys.executable}\nimport sys\nfrom trimpoint.cli.main import main\nsys.exit(main())\n"
    )
    called.chmod(0o755)
    environment = os.environ | {"TRIMPOINT_CODEX": str(stand_in), "HOME": str(tmp_path)}
    done = subprocess.run(
        [str(called), *line.split()], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == f"codex got: {got}".rstrip(" ") + ("\n" if got else " \n")


def without_home(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command where no home folder is known: no HOME, and a uid that is in no list of
    users.
    """
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HOME", "XDG_", "TRIMPOINT_"))
    }
    program = "import pwd, sys; pwd.getpwuid = lambda uid: {}[uid]; from trimpoint.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        env=own | environment,
        check=False,
    )


@pytest.mark.processes
@pytest.mark.parametrize("words", [["status"], ["doctor"], ["serve"], ["journal", "inspect"]])
def test_without_a_home_folder_a_sentence_says_what_to_set(words: list[str]) -> None:
    done = without_home(*words)
    assert (done.returncode, "HOME is not set" in done.stderr, "Traceback" in done.stderr) == (
        2,
        True,
        False,
    )


@pytest.mark.processes
def test_without_a_home_folder_named_places_are_enough(tmp_path: Path) -> None:
    places = {"TRIMPOINT_STATE_DIR": str(tmp_path), "TRIMPOINT_SOCKET": f"{tmp_path}/s"}
    assert without_home("status", **places).returncode == Exit.NO_DAEMON


@pytest.mark.processes
@pytest.mark.parametrize(
    "words", [["--version"], ["config", "show"], ["schema", "--out", "/dev/full/x"]]
)
def test_full_or_closed_output_is_a_sentence(words: list[str], tmp_path: Path) -> None:
    environment = os.environ | {"HOME": str(tmp_path)}
    command = [sys.executable, "-m", "trimpoint", *words]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert "Traceback" not in closed.stderr


def test_a_configuration_can_be_begun_shown_and_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "inner" / "config.toml"
    words = ["--config", str(file)]
    assert main(["config", "init", *words]) == 0
    text = file.read_text()
    assert "# preserve_recent_turns = 3" in text
    assert "min_messages" not in text
    assert "[limits]" not in text
    uncommented = "\n".join(
        line[2:] if line.startswith("# ") and " = " in line else line for line in text.splitlines()
    )
    assert parse_config(uncommented, "it").context.preserve_recent_turns == 3
    assert main(["config", "init", *words]) == Exit.FAILED
    capsys.readouterr()
    assert main(["config", "path", *words]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    assert main(["config", "show", "--json", *words]) == 0
    assert (
        json.loads(capsys.readouterr().out)["settings"]["context.preserve_recent_turns"]["origin"]
        == "default"
    )


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["ti"], {"timeline"}),
        (["clear", "--th"], {"--thread"}),
        (["ask", "-s", ""], {"read-only", "workspace-write", "danger-full-access"}),
        (["journal", "i"], {"inspect"}),
        (["completion", "f"], {"fish"}),
        (["clear", ""], set[str]()),
    ],
)
def test_the_word_at_hand_is_completed(words: list[str], wanted: set[str]) -> None:
    assert {word for word, _ in candidates(words)} == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_lines(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"trimpoint completion {shell} --words" in capsys.readouterr().out
    assert main(["completion", shell, "--words", "timel"]) == 0
    assert capsys.readouterr().out.startswith("timeline")


def test_a_bad_configuration_names_line_and_nearest_key(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    file = f"{tmp_path}/config.toml"
    with open(file, "w", encoding="utf-8") as opened:
        opened.write('[codex]\npth = "/x"\n')
    assert main(["status", "--config", file]) == Exit.USAGE
    said = capsys.readouterr().err
    assert f"{file}:2: unknown key 'codex.pth'." in said
    assert "Did you mean 'path'?" in said


def test_a_program_that_is_no_codex_is_reported_with_what_to_do(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["serve", "--state-dir", f"{tmp_path}/s", "--codex", f"{tmp_path}/nothing"])
        == Exit.FAILED
    )
    said = capsys.readouterr().err
    assert "cannot be used as Codex: there is no such file" in said
    assert "--codex" in said


def test_of_nested_groups_only_a_sole_kind_of_error_is_taken_out() -> None:
    error = UsageError("no")
    assert sole_error(BaseExceptionGroup("a", [BaseExceptionGroup("b", [error])])) is error
    assert sole_error(BaseExceptionGroup("a", [error, UsageError("no, either")])) is error
    several = BaseExceptionGroup("a", [error, CliError("other")])
    assert sole_error(several) is several


@pytest.mark.parametrize(
    "words", [["--help"], ["clear", "--help"], ["--version"], ["completion", "bash"]]
)
@pytest.mark.processes
def test_a_full_disk_is_a_sentence_and_never_a_traceback(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "trimpoint", *words], stdout=full, stderr=subprocess.PIPE,
            text=True, check=False, env=os.environ | {"HOME": "/tmp"},
        )  # fmt: skip
    assert (done.returncode, "No space left" in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_full_disk_elsewhere_is_reported_in_json_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(arguments: argparse.Namespace) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/state/lock")

    monkeypatch.setattr(version, "run", full)
    assert main(["--version", "--json"]) == Exit.FAILED
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["reason"], "/state/lock: No space" in error["message"]) == ("no_space", True)


@pytest.mark.processes
def test_an_output_that_lacks_our_signs_gets_plain_ones() -> None:
    program = """
import sys
from trimpoint.cli.characters import write_plainly
write_plainly(sys.stdout)
print("❯ ● ✓ ─ │ █ … “hi” grün")
"""
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment, check=True
    )
    assert done.stdout == b'> * + - | # . "hi" gr?n\n'


def test_json_and_patches_are_utf_8_whatever_the_locale_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    print_json({"name": "grün"})
    write_text("+grün\n")
    assert raw.getvalue() == '{"name":"grün"}\n+grün\n'.encode()
