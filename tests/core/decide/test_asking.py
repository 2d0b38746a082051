"""Which request of a thread waits for an answer of a person."""

import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import asks, busy

from tests.core.given import started


@pytest.mark.parametrize("method", ["item/tool/requestUserInput", "mcpServer/elicitation/request"])
def test_a_thread_asks_while_a_person_has_not_answered_also_in_a_turn(method: str) -> None:
    thread = started()
    thread.begin_turn()
    assert asks(thread.state) is None
    thread.report(ev.RequestOpened("0", "subAgent"))
    thread.report(ev.RequestOpened("1", "item/tool/call"))
    assert asks(thread.state) is None
    thread.report(ev.RequestOpened("2", method))
    block = busy(thread.state)
    assert block is not None
    assert block.kind == "turn"
    assert asks(thread.state) == method
    thread.report(ev.RequestClosed("2", "answered"))
    assert asks(thread.state) is None
