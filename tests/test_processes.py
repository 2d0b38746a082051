"""The end of a process is noticed whatever this Python and this system lack."""

import errno
import os
import select
import subprocess

import pytest
from trimpoint.processes import pidfd_of
from trimpoint.system.linux import Linux
from trimpoint.system.posix import Posix

pytestmark = pytest.mark.processes


@pytest.fixture(params=["known", "missing in this Python"])
def _known_or_not(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "known":
        monkeypatch.delattr(os, "pidfd_open")


@pytest.mark.usefixtures("_known_or_not")
def test_the_end_of_a_process_is_readable() -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as process:
        pidfd = Linux().open_pidfd(process.pid)
        assert pidfd is not None
        with open(pidfd):
            assert not os.get_inheritable(pidfd)
            assert not select.select([pidfd], [], [], 0)[0]
            assert process.stdin is not None
            process.stdin.close()
            assert select.select([pidfd], [], [], 10)[0]


@pytest.mark.usefixtures("_known_or_not")
def test_a_process_that_is_none_is_reported() -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        pass
    with pytest.raises(ProcessLookupError):
        Linux().open_pidfd(process.pid)
    with pidfd_of(process.pid) as pidfd:
        assert pidfd is None


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_a_kernel_or_a_container_without_them_has_none(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(pid: int) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pidfd_open", refused)
    assert Linux().open_pidfd(os.getpid()) is None
    assert Posix().open_pidfd(os.getpid()) is None
