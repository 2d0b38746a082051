"""A program with the sync SDK that hangs fails its own test, and nothing after it."""

import threading

import pytest

from tests.clients.sdk import in_thread


async def test_a_program_that_hangs_is_left_behind_with_what_it_does() -> None:
    never = threading.Event()

    def hangs() -> None:
        never.wait()

    with pytest.raises(pytest.fail.Exception) as failed:
        await in_thread(hangs, deadline_s=0.2)
    never.set()
    assert "never.wait()" in str(failed.value)


async def test_the_error_of_a_program_is_that_of_its_test() -> None:
    def breaks() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await in_thread(breaks)
