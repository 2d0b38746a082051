"""Scenes of Claude Code in which several things happen to one conversation, one on top of the
other, or in which something goes wrong.

    python -m tests.sessionlogs.make.claude_mixed CLAUDE OUT [SCENE …]
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from tests.sessionlogs.make.claude_terminal import Stage, make, rewind
from tests.sessionlogs.make.codex_mixed import PIXEL
from tests.sessionlogs.make.screen import ENTER, ERASE_LINE, ESCAPE, Screen


async def restore(screen: Screen, prompts: int) -> None:
    """Restores the conversation to before one of the newest prompts."""
    await rewind(screen, prompts, "Restore conversation")
    await screen.press(ERASE_LINE)


async def rewound_twice(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "RUN second", "third", "fourth"):
            await screen.say(text)
        await restore(screen, 2)
        await screen.say("another third")
        await screen.say("another fourth")
        await restore(screen, 3)
        await screen.say("another second")
        await restore(screen, 1)
        await screen.say("yet another second")
        await screen.say("last")


async def rewound_to_the_beginning(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second"):
            await screen.say(text)
        await restore(screen, 2)
        await screen.say("another first")
        await screen.say("/compact")
        await screen.say("another second")
        await restore(screen, 1)
        await screen.say("yet another second")


async def compacted_with_instructions(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "/compact keep the numbers", "third"):
            await screen.say(text)
    async with stage.running("--continue") as screen:
        for text in ("fourth", "/compact", "fifth"):
            await screen.say(text)
        await restore(screen, 2)
        await screen.say("another fourth")
        await screen.say("another fifth")


async def thoughts_and_tools(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in (
            "THINK first",
            "THINK RUN second",
            "BOTH third",
            "/compact",
            "THINK fourth",
            "fifth",
        ):
            await screen.say(text)


async def interrupted(stage: Stage) -> None:
    async with stage.running() as screen:
        await screen.say("first")
        await screen.terminal.types("SLOW second")
        await anyio.sleep(3)
        await screen.press(ESCAPE)
        await screen.press(ERASE_LINE)
        await screen.say("third")
        await screen.terminal.types("SLEEP fourth")
        await anyio.sleep(4)
        await screen.press(ESCAPE)
        await screen.press(ERASE_LINE)
        await screen.say("fifth")
        await screen.say("sixth")


async def failed_requests(stage: Stage) -> None:
    async with stage.running() as screen:
        await screen.say("first")
        await screen.say("FAIL400 second")
        await screen.say("third")
        await screen.say("FAIL529 fourth")
        await anyio.sleep(8)
        await screen.rests()
        await screen.say("fifth")
        await screen.say("sixth")


async def killed(stage: Stage) -> None:
    """Killed while the model thinks; resumed then."""
    async with stage.running() as screen:
        await screen.say("first")
        await screen.terminal.types("SLOW second")
        await anyio.sleep(3)
    path = stage.sessions()[-1]
    async with stage.running("--resume", path.stem) as screen:
        await screen.say("third")
        await screen.say("fourth")


async def killed_in_a_tool(stage: Stage) -> None:
    async with stage.running() as screen:
        await screen.say("first")
        await screen.terminal.types("SLEEP second")
        await anyio.sleep(4)
    path = stage.sessions()[-1]
    os.truncate(path, path.stat().st_size - 60)
    async with stage.running("--resume", path.stem) as screen:
        await screen.say("third")
        await screen.say("fourth")


async def queued(stage: Stage) -> None:
    """A prompt is typed while the model works."""
    async with stage.running() as screen:
        await screen.say("first")
        await screen.terminal.types("NAP second")
        await anyio.sleep(3)
        await screen.terminal.types("queued third")
        await anyio.sleep(8)
        await screen.rests()
        await screen.say("fourth")
        await screen.terminal.types("SLOW fifth")
        await anyio.sleep(2)
        await screen.terminal.types("queued sixth")
        await anyio.sleep(12)
        await screen.rests()
        await screen.say("seventh")


async def queued_and_interrupted(stage: Stage) -> None:
    """A prompt is typed while a tool runs, which is then interrupted."""
    async with stage.running() as screen:
        await screen.say("first")
        await screen.terminal.types("SLEEP second")
        await anyio.sleep(3)
        await screen.terminal.types("queued third")
        await anyio.sleep(1)
        await screen.press(ESCAPE)
        await screen.press(ERASE_LINE)
        await screen.say("fourth")


async def own_commands(stage: Stage) -> None:
    folder = stage.cwd / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text("MY COMMAND TEXT $ARGUMENTS")
    async with stage.running() as screen:
        for text in ("first", "/mine with words", "!echo from-the-shell", "second", "third"):
            await screen.say(text)


async def hooked(stage: Stage) -> None:
    def hook(text: str) -> dict[str, Any]:
        return {"hooks": [{"type": "command", "command": text}]}

    blocked = stage.home / "blocked"
    stop = f'test -e {blocked} || (touch {blocked}; echo \'{{"decision":"block","reason":"GO ON please"}}\')'
    settings = {
        "hooks": {
            "SessionStart": [hook("echo SESSION CONTEXT")],
            "UserPromptSubmit": [hook("echo PROMPT CONTEXT")],
            "PostToolUse": [
                hook(
                    'echo \'{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"TOOL CONTEXT"}}\''
                )
            ],
            "Stop": [hook(stop)],
        }
    }
    (stage.home / "settings.json").write_text(json.dumps(settings))
    async with stage.running() as screen:
        for text in ("first", "RUN second", "third", "/compact", "fourth", "fifth"):
            await screen.say(text)


async def with_images(stage: Stage) -> None:
    path = stage.cwd / "pixel.png"
    path.write_bytes(PIXEL)
    (stage.cwd / "note.txt").write_text("the note says hello")
    async with stage.running() as screen:
        for text in (
            "first",
            "READIMAGE second",
            "look at @pixel.png and @note.txt now",
            "third",
            "/compact",
            "fourth",
        ):
            await screen.say(text)


async def with_an_mcp_tool(stage: Stage) -> None:
    server = stage.home / "server.py"
    server.write_text(MCP)
    config = {"mcpServers": {"box": {"command": sys.executable, "args": [str(server)]}}}
    (stage.home / "mcp.json").write_text(json.dumps(config))
    async with stage.running(
        "--mcp-config", str(stage.home / "mcp.json"), "--allowedTools", "mcp__box__look"
    ) as screen:
        for text in ("first", "MCP second", "third"):
            await screen.say(text)


MCP = """
import json, sys
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask: continue
    method = ask["method"]
    if method == "initialize":
        result = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "box", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "look", "description": "looks", "inputSchema": {"type": "object", "properties": {}}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "MCP RESULT"}, {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": result}), flush=True)
"""


async def planned(stage: Stage) -> None:
    async with stage.running("--permission-mode", "plan") as screen:
        await screen.say("first")
        await screen.say("PLAN second")
        await screen.press(ENTER)
        await screen.rests()
        await screen.say("third")
        await screen.say("fourth")


async def in_the_background(stage: Stage) -> None:
    async with stage.running() as screen:
        await screen.say("first")
        await screen.say("BACK second")
        await anyio.sleep(4)
        await screen.rests()
        await screen.say("third")
        await screen.say("BGAGENT fourth")
        await anyio.sleep(4)
        await screen.rests()
        await screen.say("fifth")
        await screen.say("sixth")


async def two_processes(stage: Stage) -> None:
    """Two processes go on with one session, in turns; a third one resumes it."""
    async with stage.running() as screen:
        await screen.say("first")
    origin = stage.sessions()[-1].stem
    async with stage.running("--resume", origin) as one, stage.running("--resume", origin) as other:
        await one.say("one second")
        await other.say("other second")
        await one.say("one third")
        await other.say("other third")
    async with stage.running("--resume", origin) as screen:
        await screen.say("fourth")
        await screen.say("fifth")


async def branched_and_rewound(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "/branch", "on the branch", "on it again"):
            await screen.say(text)
        await restore(screen, 2)
        for text in (
            "on the branch instead",
            "/compact",
            "behind it",
            "/branch",
            "on the second branch",
        ):
            await screen.say(text)
        await screen.say("last")


async def branched_behind_a_kept_beginning(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "RUN second", "third"):
            await screen.say(text)
        await rewind(screen, 1, "Summarize from here")
        await screen.press(ENTER, ERASE_LINE)
        for text in ("fourth", "/branch", "on the branch"):
            await screen.say(text)


async def forked_twice(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second"):
            await screen.say(text)
        await restore(screen, 1)
        await screen.say("another second")
    origin = stage.sessions()[-1].stem
    async with stage.running("--resume", origin, "--fork-session") as screen:
        for text in ("on the fork", "/compact", "compacted fork"):
            await screen.say(text)
    fork = stage.sessions()[-1].stem
    async with stage.running("--resume", fork, "--fork-session") as screen:
        for text in ("on the second fork", "again"):
            await screen.say(text)
        await restore(screen, 1)
        await screen.say("instead")


async def cleared_and_rewound(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("before", "RUN more before", "/clear", "after", "RUN after that"):
            await screen.say(text)
        await restore(screen, 1)
        for text in ("after that instead", "/compact", "behind it", "/clear", "last"):
            await screen.say(text)
    async with stage.running("--continue") as screen:
        await screen.say("very last")


async def compacted_automatically_twice(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in (
            "first",
            "RUN second",
            "HUGE third",
            "fourth",
            "HUGE fifth",
            "RUN sixth",
            "seventh",
            "/compact",
            "eighth",
        ):
            await screen.say(text)


async def summarized_in_part_twice(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "third", "fourth"):
            await screen.say(text)
        await rewind(screen, 2, "Summarize from here")
        await screen.press(ENTER, ERASE_LINE)
        await screen.say("fifth")
        await screen.say("sixth")
        await rewind(screen, 1, "Summarize up to here")
        await screen.press(ENTER, ERASE_LINE)
        await screen.say("seventh")
        await screen.say("/compact")
        await screen.say("eighth")


MIXED: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "rewound-twice": rewound_twice,
    "rewound-to-the-beginning": rewound_to_the_beginning,
    "compacted-with-instructions": compacted_with_instructions,
    "thoughts-and-tools": thoughts_and_tools,
    "interrupted": interrupted,
    "failed-requests": failed_requests,
    "killed": killed,
    "killed-in-a-tool": killed_in_a_tool,
    "queued": queued,
    "queued-and-interrupted": queued_and_interrupted,
    "own-commands": own_commands,
    "hooked": hooked,
    "with-images": with_images,
    "with-an-mcp-tool": with_an_mcp_tool,
    "planned": planned,
    "in-the-background": in_the_background,
    "two-processes": two_processes,
    "branched-and-rewound": branched_and_rewound,
    "branched-behind-a-kept-beginning": branched_behind_a_kept_beginning,
    "forked-twice": forked_twice,
    "cleared-and-rewound": cleared_and_rewound,
    "compacted-automatically-twice": compacted_automatically_twice,
    "summarized-in-part-twice": summarized_in_part_twice,
}


if __name__ == "__main__":
    anyio.run(make, sys.argv[1], Path(sys.argv[2]), sys.argv[3:], MIXED)
