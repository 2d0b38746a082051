"""A program that uses `codex-app-server-sdk` (PyPI) over WebSocket, and prints what it receives."""

import asyncio
import json
import sys

from codex_app_server_sdk import CodexClient, ThreadConfig


def show(what: str, value: object) -> None:
    """Prints one line."""
    print(f"{what}: {json.dumps(value)}", flush=True)


async def main(url: str, token: str, folder: str) -> None:
    """Starts a thread, runs turns in it, and reads it."""
    client = CodexClient.connect_websocket(url=url, token=token)
    async with client:
        await client.initialize()
        thread = await client.start_thread(
            ThreadConfig(cwd=folder, approval_policy="never", sandbox="danger-full-access")
        )
        for word in ("one", "two"):
            show("chat", (await thread.chat_once(f"Say {word}.")).final_text)
        async for step in thread.chat("Run something."):
            show("step", f"{step.step_type} {step.item_type} {step.status}")
        await thread.set_name("a name")
        read = (await thread.read())["thread"]
        show("read", f"{read['name']} {[turn['status'] for turn in read['turns']]}")
        listed = await client.list_threads()
        show("list", [(one["preview"], one["name"]) for one in listed["data"]])
        show("models", len((await client.list_models())["data"]) > 0)
        show("config", (await client.read_config())["config"]["model"])
        fork = await thread.fork()
        show("fork", (await fork.chat_once("Say three.")).final_text)
        show("exec", (await client.exec_command(["echo", "hello"]))["stdout"])
        await fork.archive()
        await fork.unarchive()
        show("typed", (await thread.chat_once("/clear 1")).final_text)
        show("chat", (await thread.chat_once("Say four.")).final_text)


asyncio.run(main(*sys.argv[1:]))
