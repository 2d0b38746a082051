"""Which Codex binary is used, and which is refused."""

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from trimpoint.codex.appserver.locate import CodexBinary, CodexNotFound, CodexUnusable, find_codex
from trimpoint.system import SYSTEM
from trimpoint.system.darwin import Darwin
from trimpoint.system.linux import Linux

NODE_WRAPPER = '#!/usr/bin/env node\nimport { spawn } from "node:child_process";\n'
TRIPLE = "x86_64-unknown-linux-musl"
PLATFORM = "@openai/codex-linux-x64"

LAYOUTS = {
    "beside": f"node_modules/{PLATFORM}/vendor/{TRIPLE}/bin/codex",
    "beside, older": f"node_modules/{PLATFORM}/vendor/{TRIPLE}/codex/codex",
    "nested": f"node_modules/@openai/codex/node_modules/{PLATFORM}/vendor/{TRIPLE}/bin/codex",
    "in the package": f"node_modules/@openai/codex/vendor/{TRIPLE}/codex/codex",
    "oldest": f"node_modules/@openai/codex/bin/codex-{TRIPLE}",
}


@pytest.fixture(autouse=True)
def on_linux_x64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(SYSTEM, "naming", Linux.naming)


@pytest.fixture
def no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle_with(monkeypatch, None)


def bundle_with(monkeypatch: pytest.MonkeyPatch, bundled_codex_path: Any) -> None:
    def import_module(name: str) -> ModuleType | SimpleNamespace:
        if bundled_codex_path is None:
            raise ImportError(name)
        return SimpleNamespace(bundled_codex_path=bundled_codex_path)

    monkeypatch.setattr(importlib, "import_module", import_module)


def program(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o755)
    return path


def native(path: Path) -> Path:
    return program(path, b"\x7fELF\x02\x01\x01" + bytes(64))


def npm_link(root: Path) -> Path:
    wrapper = program(root / "node_modules/@openai/codex/bin/codex.js", NODE_WRAPPER)
    link = root / "bin" / "codex"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(wrapper)
    return link


def search_path(*links: Path) -> dict[str, str]:
    return {"PATH": os.pathsep.join(str(link.parent) for link in links)}


def test_the_flag_wins_over_configuration_and_path(tmp_path: Path) -> None:
    flag, configured, found = (
        native(tmp_path / name / "codex") for name in ("flag", "config", "path")
    )
    assert find_codex(flag=flag, configured=configured, environ=search_path(found)) == CodexBinary(
        flag, "flag"
    )
    assert find_codex(configured=configured, environ=search_path(found)) == CodexBinary(
        configured, "config"
    )
    assert find_codex(environ=search_path(found)) == CodexBinary(found, "path")


def test_a_named_path_that_does_not_do_is_refused_and_not_replaced(tmp_path: Path) -> None:
    found = native(tmp_path / "path" / "codex")
    with pytest.raises(CodexUnusable) as refused:
        find_codex(flag=tmp_path / "missing", environ=search_path(found))
    assert (refused.value.source, refused.value.reason) == ("flag", "there is no such file")
    assert "--codex" in refused.value.hint
    assert str(tmp_path / "missing") in str(refused.value)


def test_a_configured_file_that_is_not_executable_is_refused(tmp_path: Path) -> None:
    plain = native(tmp_path / "codex")
    plain.chmod(0o644)
    with pytest.raises(CodexUnusable, match="not executable") as refused:
        find_codex(configured=plain)
    assert "configured" in refused.value.hint


def test_an_unreadable_candidate_is_skipped_on_path_and_refused_when_named(
    tmp_path: Path,
) -> None:
    # A name too long stands for a folder that may not be entered, which the tests may be allowed
    # to.
    hidden = tmp_path / ("x" * 300)
    found = find_codex(environ={"PATH": f"{hidden}:{native(tmp_path / 'bin' / 'codex').parent}"})
    assert found == CodexBinary(tmp_path / "bin" / "codex", "path")
    with pytest.raises(CodexUnusable, match="there is no such file"):
        find_codex(flag=hidden)


def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(path)

    hidden = native(tmp_path / "codex")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CodexUnusable, match="cannot be read"):
        find_codex(flag=hidden)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_npm_s_wrapper_is_resolved_to_the_native_binary(tmp_path: Path, layout: str) -> None:
    link = npm_link(tmp_path)
    binary = native(tmp_path / layout)
    assert find_codex(environ=search_path(link)) == CodexBinary(binary, "path")
    assert find_codex(flag=link) == CodexBinary(binary, "flag")


def test_the_binary_of_another_machine_is_not_taken(tmp_path: Path) -> None:
    native(tmp_path / LAYOUTS["in the package"].replace("x86_64", "aarch64"))
    with pytest.raises(CodexUnusable, match="node wrapper"):
        find_codex(flag=npm_link(tmp_path))


@pytest.mark.parametrize("machine", ["arm64", "aarch64"])
def test_arm_has_a_package_of_its_own(
    tmp_path: Path, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    layout = LAYOUTS["beside"].replace("x86_64", "aarch64").replace("x64", "arm64")
    binary = native(tmp_path / layout)
    assert find_codex(flag=npm_link(tmp_path)).path == binary


def test_macos_has_packages_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SYSTEM, "naming", Darwin.naming)
    layout = "node_modules/@openai/codex-darwin-x64/vendor/x86_64-apple-darwin/bin/codex"
    binary = native(tmp_path / layout)
    assert find_codex(flag=npm_link(tmp_path)).path == binary


def test_pnpm_s_shell_shim_is_followed(tmp_path: Path) -> None:
    program(tmp_path / "node_modules/@openai/codex/bin/codex.js", NODE_WRAPPER)
    binary = native(tmp_path / LAYOUTS["beside"])
    shim = program(
        tmp_path / "node_modules/.bin/codex",
        '#!/bin/sh\nbasedir=$(dirname "$0")\nexec node "$basedir/../@openai/codex/bin/codex.js" "$@"\n',
    )
    assert find_codex(environ=search_path(shim)) == CodexBinary(binary, "path")


def test_a_wrapper_without_its_binary_is_passed_over(tmp_path: Path) -> None:
    broken = npm_link(tmp_path / "broken")
    works = native(tmp_path / "works" / "codex")
    assert find_codex(environ=search_path(broken, works)) == CodexBinary(works, "path")


def test_a_script_run_by_node_without_the_suffix_is_a_wrapper_too(tmp_path: Path) -> None:
    with pytest.raises(CodexUnusable, match="node wrapper"):
        find_codex(
            flag=program(tmp_path / "bin" / "codex", "#!/usr/bin/env -S node --no-warnings\n")
        )


def test_someone_s_own_launcher_is_taken_as_it_is(tmp_path: Path) -> None:
    launcher = program(tmp_path / "node" / "codex", '#!/bin/sh\nexec /opt/codex -c model=x "$@"\n')
    assert find_codex(environ=search_path(launcher)) == CodexBinary(launcher, "path")


@pytest.mark.parametrize(
    "script",
    [
        "#!/usr/bin/python3\nimport sys\nfrom trimpoint.cli.main import main\nsys.exit(main())\n",
        "#!/usr/bin/python3\nimport trimpoint\n",
        '#!/bin/sh\nexec python3 -m trimpoint "$@"\n',
        '#!/bin/sh\nexec /opt/bin/trimpoint stdio "$@"\n',
        '#!/bin/sh\nexec "/opt/bin/trimpoint" "$@"\n',
    ],
)
def test_trimpoint_under_codex_s_name_is_never_picked(tmp_path: Path, script: str) -> None:
    disguised = program(tmp_path / "disguised" / "codex", script)
    real = native(tmp_path / "real" / "codex")
    assert find_codex(environ=search_path(disguised, real)) == CodexBinary(real, "path")
    with pytest.raises(CodexUnusable, match="trimpoint itself"):
        find_codex(flag=disguised)


def test_the_running_program_is_never_picked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = native(tmp_path / "running" / "codex")
    real = native(tmp_path / "real" / "codex")
    link = tmp_path / "linked" / "codex"
    link.parent.mkdir()
    link.symlink_to(running)
    monkeypatch.setattr(sys, "argv", [str(running), "serve"])
    assert find_codex(environ=search_path(link, real)) == CodexBinary(real, "path")


def test_a_folder_called_trimpoint_disqualifies_nothing(tmp_path: Path) -> None:
    content = '#!/bin/sh\n# for the trimpoint project\nexec "/home/me/trimpoint/bin/codex" "$@"\n'
    launcher = program(tmp_path / "trimpoint" / "codex", content)
    assert find_codex(environ=search_path(launcher)) == CodexBinary(launcher, "path")


def test_a_relative_entry_in_path_does_not_give_a_repository_its_own_codex(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_bundle: None
) -> None:
    native(tmp_path / "node_modules" / ".bin" / "codex")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CodexNotFound):
        find_codex(environ={"PATH": "./node_modules/.bin:node_modules/.bin"})


def test_an_empty_entry_in_path_does_not_mean_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_bundle: None
) -> None:
    native(tmp_path / "codex")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CodexNotFound):
        find_codex(environ={"PATH": os.pathsep})


def test_the_bundled_package_is_the_last_resort(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    binary = native(tmp_path / "bundle" / "codex")
    bundle_with(monkeypatch, lambda: binary)
    assert find_codex(environ={}) == CodexBinary(binary, "bundled")


def test_the_real_bundled_package_is_found() -> None:
    pytest.importorskip("codex_cli_bin")
    found = find_codex(environ={})
    assert found.source == "bundled"
    assert found.path.name == "codex"


def test_when_nothing_is_found_the_hint_lists_every_try(tmp_path: Path, no_bundle: None) -> None:
    broken = npm_link(tmp_path)
    with pytest.raises(CodexNotFound, match="no usable Codex") as missing:
        find_codex(environ=search_path(broken))
    assert [attempt.place for attempt in missing.value.attempts] == [str(broken), "bundled package"]
    assert (
        f"{broken}: it is a node wrapper, and {PLATFORM} with its native binary is not"
        in missing.value.hint
    )
    assert "bundled package: openai-codex-cli-bin is not installed" in missing.value.hint


def test_an_empty_path_and_a_damaged_bundle_are_both_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def damaged() -> Path:
        raise FileNotFoundError("missing its packaged binary")

    bundle_with(monkeypatch, damaged)
    with pytest.raises(CodexNotFound) as missing:
        find_codex(environ={})
    assert [attempt.reason for attempt in missing.value.attempts] == [
        "no program named codex",
        "missing its packaged binary",
    ]
