"""Completion in the shells that are installed on this machine."""

import shlex
import shutil

import anyio
import pytest

from tests.cli.stage import DEADLINE_S, CliHarness, Terminal

pytestmark = pytest.mark.codex

BASH = """
eval "$(trimpoint completion bash)"
complete_words() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _trimpoint 2>/dev/null
    printf '%s\\n' "${COMPREPLY[@]}"
}
"""


async def completed(stage: CliHarness, shell: str, *words: str) -> list[str]:
    """Returns the shell's own completions of the last word."""
    environment = stage.with_program_on_path()
    if shell == "bash":
        script = f"{BASH}\ncomplete_words {shlex.join(words)}"
    else:
        script = f"trimpoint completion fish | source\ncomplete -C {shlex.quote(' '.join(words))}"
    done = await stage.shell(f"{shell} -c {shlex.quote(script)}", environment)
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()


@pytest.mark.parametrize("shell", ["bash", "fish"])
async def test_a_shell_offers_commands_options_values_and_threads(
    stage: CliHarness, shell: str
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    async with stage.daemon() as client:
        thread_id = await stage.thread(client)
        await stage.turn(client, thread_id, "mend the parser")
        assert (await completed(stage, shell, "trimpoint", "cl"))[0].startswith("clear")
        [option] = await completed(stage, shell, "trimpoint", "clear", "--dr")
        assert option.startswith("--dry-run")
        modes = await completed(stage, shell, "trimpoint", "ask", "--sandbox", "")
        assert modes == ["read-only", "workspace-write", "danger-full-access"]
        for words in (("context",), ("clear", "--thread"), ("--thread",)):
            [thread] = await completed(stage, shell, "trimpoint", *words, "")
            assert thread.startswith(thread_id[-8:])
        [by_words] = await completed(stage, shell, "trimpoint", "context", "mend")
        assert by_words.partition("\t")[0] in {thread_id[-8:], "mend the parser"}
    [left_behind] = await completed(stage, shell, "trimpoint", "context", "")
    assert left_behind.startswith(thread_id[-8:])


async def test_bash_tells_candidates_apart_by_their_titles(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        for prompt in ("mend the parser", "write the docs"):
            await stage.turn(client, await stage.thread(client), prompt)
        offered = await completed(stage, "bash", "trimpoint", "context", "")
    assert sorted(line[8:] for line in offered) == ["  (mend the parser)", "  (write the docs)"]


@pytest.mark.parametrize("place", ["fpath", "zshrc"])
async def test_the_first_tab_in_zsh_completes_a_command(
    stage: CliHarness, place: str, request: pytest.FixtureRequest
) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    environment = stage.with_program_on_path() | {"ZDOTDIR": str(stage.folder), "TERM": "xterm"}
    script = (await stage.run("completion", "zsh")).out
    begin = "PS1='ready> '\n"
    if place == "fpath":
        (stage.folder / "_trimpoint").write_text(script)
        begin += f"fpath=({stage.folder} $fpath)\nautoload -Uz compinit && compinit -u\n"
    else:
        begin += script
    (stage.folder / ".zshrc").write_text(begin)
    terminal = Terminal()
    request.addfinalizer(terminal.close)
    async with await anyio.open_process(
        ["zsh", "-i"],
        stdin=terminal.fd,
        stdout=terminal.fd,
        stderr=terminal.fd,
        env=environment,
        cwd=stage.worktree,
        start_new_session=True,
    ) as zsh:
        await terminal.shows("ready> ")
        terminal.press("trimpoint cle\t--help > help.txt\nexit\n")
        with anyio.fail_after(DEADLINE_S):
            await zsh.wait()
    assert (stage.worktree / "help.txt").read_text().startswith("usage: trimpoint clear")
