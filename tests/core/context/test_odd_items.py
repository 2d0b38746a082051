"""Raw items whose members have another form than expected: everything that reads the context still
does.
"""

from typing import Any

import msgspec
import pytest
from trimpoint.core.context.context_size import context_size
from trimpoint.core.context.inspection import inspect_context
from trimpoint.core.context.segments import context_segments

from tests.core.given import started, trim
from tests.core.items import Item, call, message, output, thought, turn

ODD: list[Any] = [None, 5, True, "odd", ["odd"], {"odd": ["odd"]}, [{"type": ["odd"], "text": 5}]]
ITEMS: list[Item] = [message("user", "hm"), thought(), call("a"), output("a")]
MEMBERS = sorted({name for item in ITEMS for name in item})


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("value", ODD, ids=str)
def test_the_context_is_read_whatever_form_a_member_of_an_item_has(name: str, value: Any) -> None:
    thread = started()
    odd = [{**item, name: value} for item in ITEMS]
    turn(thread, "one?", "one!", (*ITEMS, *odd))
    turn(thread, "two?", "two!")
    sent = [msgspec.json.encode(item) for item in odd]
    assert len(inspect_context(thread.state, sent)) == len(sent)
    assert context_segments(thread.state)
    assert context_size(thread.state, thread.policy).used > 0
    thread.do(trim(1))
    assert context_segments(thread.state)
