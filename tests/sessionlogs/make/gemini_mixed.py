"""Scenes of Gemini CLI in which several things happen to one conversation, one on top of the
other, or in which something goes wrong.

    python -m tests.sessionlogs.make.gemini_mixed GEMINI OUT [SCENE …]
"""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from tests.sessionlogs.make.codex_mixed import PIXEL
from tests.sessionlogs.make.gemini_sessions import Stage, make
from tests.sessionlogs.make.screen import ENTER, ERASE_LINE, ESCAPE, UP, Screen


async def rewind(screen: Screen, prompts: int) -> None:
    """Goes back to before one of the newest prompts, counted from the last."""
    await screen.say("/rewind")
    await screen.press(*[UP] * prompts, ENTER, ENTER)
    await screen.press(ERASE_LINE)


async def rewound_twice(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "RUN second", "third", "fourth"):
            await screen.say(text)
        await rewind(screen, 2)
        await screen.say("another third")
        await screen.say("another fourth")
        await rewind(screen, 3)
        await screen.say("another second")
        await screen.say("last")


async def rewound_behind_a_compression(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "LONG second", "RUN third", "/compress", "fourth", "fifth"):
            await screen.say(text)
        await rewind(screen, 1)
        await screen.say("another fifth")
        await rewind(screen, 3)
        await screen.say("another third")
        await screen.say("last")


async def compressed_twice(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in (
            "first",
            "LONG second",
            "RUN third",
            "/compress",
            "LONG fourth",
            "RUN fifth",
            "/compress",
            "sixth",
        ):
            await screen.say(text)
    async with stage.running("--resume", "latest") as screen:
        for text in ("LONG seventh", "HUGE eighth", "ninth", "tenth"):
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
        await anyio.sleep(5)
        await screen.press(ESCAPE)
        await screen.press(ERASE_LINE)
        await screen.say("fifth")
        await screen.say("sixth")
    async with stage.running("--resume", "latest") as screen:
        await screen.say("seventh")


async def failed_requests(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "FAIL400 second", "third", "FAIL500 fourth", "fifth", "sixth"):
            await screen.say(text)


async def thoughts_and_tools(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("THINK first", "THINK RUN second", "BOTH third", "WRONG fourth", "fifth"):
            await screen.say(text)
    async with stage.running("--resume", "latest") as screen:
        await screen.say("sixth")
        await screen.say("seventh")


async def with_images(stage: Stage) -> None:
    (stage.cwd / "pixel.png").write_bytes(PIXEL)
    (stage.cwd / "note.txt").write_text("the note says hello")
    async with stage.running() as screen:
        for text in ("first", "look at @pixel.png and @note.txt now", "third", "fourth"):
            await screen.say(text)
    async with stage.running("--resume", "latest") as screen:
        await screen.say("fifth")


async def in_the_shell(stage: Stage) -> None:
    async with stage.running() as screen:
        await screen.say("first")
        await screen.press(b"!")
        await screen.say("echo from-the-shell")
        await screen.press(ESCAPE)
        await screen.say("second")
        await screen.say("third")


async def killed(stage: Stage) -> None:
    async with stage.running_until_killed() as screen:
        await screen.say("first")
        await screen.say("RUN second")
        await screen.terminal.types("SLOW third")
        await anyio.sleep(3)
    stage.tear(30)
    async with stage.running("--resume", "latest") as screen:
        await screen.say("fourth")
        await screen.say("fifth")


async def cleared_and_rewound(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("before", "RUN more before", "/clear", "after", "RUN after that", "last"):
            await screen.say(text)
        await rewind(screen, 2)
        for text in ("after that instead", "LONG more", "/compress", "behind it"):
            await screen.say(text)


async def saved_and_compressed(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in (
            "first",
            "LONG second",
            "/chat save here",
            "third",
            "/compress",
            "fourth",
            "/chat resume here ",
            "fifth",
            "/compress",
            "sixth",
        ):
            await screen.say(text)


MIXED: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "rewound-twice": rewound_twice,
    "rewound-behind-a-compression": rewound_behind_a_compression,
    "compressed-twice": compressed_twice,
    "interrupted": interrupted,
    "failed-requests": failed_requests,
    "thoughts-and-tools": thoughts_and_tools,
    "with-images": with_images,
    "in-the-shell": in_the_shell,
    "killed": killed,
    "cleared-and-rewound": cleared_and_rewound,
    "saved-and-compressed": saved_and_compressed,
}


if __name__ == "__main__":
    anyio.run(make, sys.argv[1], Path(sys.argv[2]), sys.argv[3:], MIXED)
