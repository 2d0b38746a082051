"""Configures a real Codex for a scripted model: `-c` values, environment, temporary CODEX_HOME,
login.

Measured with 0.163 and 0.171 unless a line says otherwise.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from trimpoint.testkit.scripted_model import ScriptedModel

_FOLDER = "trimpoint-testkit"
#: Where temporary files outlive a restart; to Codex it is no folder for temporary files.
_LASTING = Path("/var/tmp")
#: Without it Codex clones its plugin list from github.com and asks chatgpt.com at every start.
_OFFLINE = "features.plugins=false"


def codex_overrides(model: ScriptedModel) -> list[str]:
    """Returns `-c` values for a custom provider: inline compaction, no account, no retries."""
    return _custom_provider(model, name="scripted")


def remote_overrides(model: ScriptedModel) -> list[str]:
    """Returns `codex_overrides` with remote (encrypted) compaction.

    Codex uses remote compaction for a provider whose *name* is OpenAI. Unlike the built-in
    provider, this one needs no login, opens no WebSocket, and its retries can be switched off.
    """
    return _custom_provider(model, name="OpenAI")


def openai_overrides(model: ScriptedModel) -> list[str]:
    """Returns `-c` values for the built-in provider: WebSocket first, remote compaction. It needs
    `codex_environment` with certificates.

    Its retries cannot be switched off (an override of `model_providers.openai` ends Codex at
    start): an HTTP 500 takes 25 s and 30 requests to fail.
    """
    return [f'openai_base_url="{model.base_url}"', 'model="gpt-5"', _OFFLINE]


def config_flags(overrides: Iterable[str]) -> list[str]:
    """Returns command-line arguments: `-c` before each of `overrides`."""
    return [argument for override in overrides for argument in ("-c", override)]


def codex_environment(codex_home: Path, *, certificates: bool = False) -> dict[str, str]:
    """Returns this process's environment with `CODEX_HOME`, without keys, and with loopback exempt
    from proxies, because Codex sends even loopback requests to `HTTP_PROXY`.

    :param certificates: whether Codex finds the machine's certificates. It reads all of them for
        each model request, plain HTTP included: 40 % of the processor time of a turn. The built-in
        provider needs some, because it first tries a WebSocket.
    """
    left_out = ("CODEX_", "OPENAI_", *(() if certificates else ("SSL_CERT_",)))
    own = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    if not certificates:
        own["SSL_CERT_FILE"] = os.devnull
    exempt = ",".join(filter(None, [own.get("NO_PROXY") or own.get("no_proxy"), "127.0.0.1"]))
    return own | {"CODEX_HOME": str(codex_home), "NO_PROXY": exempt, "no_proxy": exempt}


@asynccontextmanager
async def throwaway_codex_home(parent: Path | None = None) -> AsyncGenerator[Path, None]:
    """Yields a new folder, which is removed afterwards. By default it is under
    `$XDG_CACHE_HOME/trimpoint-testkit`.

    :raises ValueError: when `parent` is inside the folder for temporary files: there Codex skips
        its helper aliases, and sandboxed commands may then fail.
    """
    home = await anyio.to_thread.run_sync(_make_home, parent or _cache_dir())
    try:
        yield home
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_remove_home, home)


async def log_in(codex_bin: Path, codex_home: Path, *, api_key: str = "sk-scripted") -> None:
    """Logs Codex in with an API key, which is stored in `codex_home` and not verified.

    :raises subprocess.CalledProcessError: when Codex refused.
    """
    command = [str(codex_bin), "login", "--with-api-key"]
    await anyio.run_process(
        command, input=f"{api_key}\n".encode(), env=codex_environment(codex_home)
    )


def _custom_provider(model: ScriptedModel, name: str) -> list[str]:
    settings = {
        "name": f'"{name}"',
        "base_url": f'"{model.base_url}"',
        "wire_api": '"responses"',
        "request_max_retries": "0",
        "stream_max_retries": "0",
    }
    table = ",".join(f"{key}={value}" for key, value in settings.items())
    return [
        'model_provider="scripted"',
        'model="gpt-5"',
        f"model_providers.scripted={{{table}}}",
        _OFFLINE,
    ]


def _cache_dir() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME")
    if configured:
        return Path(configured) / _FOLDER
    try:
        cache = Path.home() / ".cache"
    except RuntimeError:  # a container with a uid that has no home
        cache = _LASTING
    if cache == _LASTING or cache.resolve().is_relative_to(_temporary()):
        return _LASTING / f"{_FOLDER}-{os.getuid()}"
    return cache / _FOLDER


def _make_home(parent: Path) -> Path:
    temporary = _temporary()
    if parent.resolve().is_relative_to(temporary):
        raise ValueError(
            f"Codex refuses to put its helpers under {temporary}: set XDG_CACHE_HOME to a folder "
            "elsewhere"
        )
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="codex-home-", dir=parent))


def _temporary() -> Path:
    # Codex looks at TMPDIR alone; `tempfile.gettempdir` would also follow TEMP, TMP and what is
    # writable.
    return Path(os.environ.get("TMPDIR") or "/tmp").resolve()


def _remove_home(home: Path) -> None:
    # A Codex that is just ending may still write into it; what is left over is only a cache.
    shutil.rmtree(home, ignore_errors=True)
