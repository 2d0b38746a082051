"""Ids are replaced in the members for ids and nowhere else, and all other content stays the
same.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.gateway.ids import idmap

STABLE = [f"01900000-0000-7000-8000-00000000000{n}" for n in range(4)]
PROVIDER = [f"01a00000-0000-7000-8000-00000000000{n}" for n in range(4)]
STRANGER = "01b00000-0000-7000-8000-000000000009"
TO_CLIENT = dict(zip(PROVIDER, STABLE, strict=True)).get
TO_PROVIDER = dict(zip(STABLE, PROVIDER, strict=True)).get
NAMES = [
    *idmap.ID_MEMBERS,
    *idmap.CONTENT_MEMBERS,
    "name",
    "cwd",
    "turnId",
    "data",
    "item",
    "items",
    "thread",
    "status",
    "futureMember",
]


def documents(ids: list[str]) -> st.SearchStrategy[Any]:
    """Returns a strategy for messages of any shape with `ids` and texts about them in all places.
    The member "path" has its own rule.
    """
    texts = (
        st.sampled_from([*ids, STRANGER])
        | st.sampled_from(ids).map(lambda one: f"see thread {one} there")
        | st.text(max_size=8)
    )
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts
    )
    keys = (
        st.sampled_from(NAMES)
        | st.sampled_from([*ids, STRANGER])
        | st.text(max_size=8).filter(lambda key: key != "path")
    )
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=25,
    )


def leaves_of(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields each leaf value with the names of the members that lead to it. Entries of a list have
    the list's name.
    """
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves_of(member, (*path, key))
    elif isinstance(value, list):
        # There are lists of thread ids. A turn's id is alone.
        within = (*path, "[]") if path and path[-1] in idmap.TURN_ID_MEMBERS else path
        for member in value:
            yield from leaves_of(member, within)
    else:
        yield path, value


def holds_an_id(path: tuple[str, ...], value: Any) -> bool:
    """Returns whether a place may hold an id: its member is one for ids, and it is not inside free
    content. Independent of the tested code.
    """
    named = bool(path) and path[-1] in idmap.ID_MEMBERS | idmap.TURN_ID_MEMBERS
    return named and not set(path) & idmap.CONTENT_MEMBERS and isinstance(value, str)


@given(documents(STABLE))
def test_rewriting_ids_there_and_back_changes_nothing(document: Any) -> None:
    assert idmap.rewrite_ids(idmap.rewrite_ids(document, TO_PROVIDER), TO_CLIENT) == document


@given(documents(PROVIDER))
def test_the_other_way_round_too(document: Any) -> None:
    assert idmap.rewrite_ids(idmap.rewrite_ids(document, TO_CLIENT), TO_PROVIDER) == document


@given(documents(PROVIDER))
def test_only_whole_ids_in_the_places_of_ids_change(document: Any) -> None:
    before, after = (
        list(leaves_of(document)),
        list(leaves_of(idmap.rewrite_ids(document, TO_CLIENT))),
    )
    assert len(before) == len(after)
    for (path, old), (_, new) in zip(before, after, strict=True):
        assert new == (TO_CLIENT(old, old) if holds_an_id(path, old) else old)
        assert type(new) is type(old)


def test_a_list_of_ids_is_exchanged_as_a_whole() -> None:
    message = {"receiverThreadIds": [PROVIDER[0], STRANGER], "threads": [PROVIDER[1]]}
    assert idmap.rewrite_ids(message, TO_CLIENT) == {
        "receiverThreadIds": [STABLE[0], STRANGER],
        "threads": [STABLE[1]],
    }


@pytest.mark.parametrize("name", sorted(idmap.CONTENT_MEMBERS))
def test_ids_inside_free_content_are_not_rewritten(name: str) -> None:
    content = {
        "id": PROVIDER[0],
        "threadId": PROVIDER[1],
        PROVIDER[2]: [PROVIDER[3], {"threadIds": [PROVIDER[0]]}],
    }
    assert idmap.rewrite_ids({name: content}, TO_CLIENT) == {name: content}
    assert idmap.rewrite_ids({name: PROVIDER[0]}, TO_CLIENT) == {name: PROVIDER[0]}


def test_maps_that_are_keyed_by_thread_are_keyed_by_the_other_id() -> None:
    states = {
        "agentsStates": {PROVIDER[0]: {"status": "running"}, STRANGER: {}},
        "readStates": {PROVIDER[1]: {"revision": "r"}},
    }
    assert idmap.rewrite_ids(states, TO_CLIENT) == {
        "agentsStates": {STABLE[0]: {"status": "running"}, STRANGER: {}},
        "readStates": {STABLE[1]: {"revision": "r"}},
    }


@given(documents(PROVIDER))
def test_encoded_messages_are_exchanged_as_decoded_ones_are(document: Any) -> None:
    encoded = idmap.rewrite_ids_in_encoded(msgspec.json.encode(document), TO_CLIENT)
    assert msgspec.json.decode(encoded) == idmap.rewrite_ids(document, TO_CLIENT)


@given(documents(PROVIDER))
def test_large_objects_are_exchanged_as_small_ones_are(document: Any) -> None:
    whole = {"document": document, **(document if isinstance(document, dict) else {})}
    encoded = idmap.rewrite_ids_in_large_object(msgspec.json.encode(whole), TO_CLIENT)
    assert msgspec.json.decode(encoded) == idmap.rewrite_ids(whole, TO_CLIENT)


@pytest.mark.parametrize("known", [PROVIDER, []])
def test_an_id_is_found_among_a_hundred_thousand_dashes(known: list[str]) -> None:
    index = dict.fromkeys(known, "")
    dashes = "-a" * idmap.MAX_DASHES
    for text in (f"{dashes}{PROVIDER[2]}{dashes}", f"{dashes}-{STRANGER}-{PROVIDER[0]}"):
        assert idmap.mentions_any(text.encode(), index) is bool(known)


def test_the_rollout_of_a_thread_under_another_id_keeps_its_path() -> None:
    """Codex's terminal UI takes a thread without a file for one that is not saved."""
    path = f"/sessions/rollout-{PROVIDER[0]}.jsonl"
    renamed = {"thread": {"id": PROVIDER[0], "path": path, "cwd": "/work"}}
    assert idmap.rewrite_ids(renamed, TO_CLIENT) == {
        "thread": {"id": STABLE[0], "path": path, "cwd": "/work"}
    }


def test_cursors_name_the_thread_inside_and_come_back_as_they_were() -> None:
    cursor = msgspec.json.encode({"requestedThreadId": PROVIDER[0], "rolloutOrdinal": 14}).decode()
    shown = idmap.rewrite_ids({"nextCursor": cursor, "backwardsCursor": None}, TO_CLIENT)
    assert PROVIDER[0] not in shown["nextCursor"]
    assert idmap.rewrite_ids({"cursor": shown["nextCursor"]}, TO_PROVIDER) == {"cursor": cursor}


@pytest.mark.parametrize("known", [PROVIDER, []])
def test_a_message_mentions_an_id_wherever_it_stands(known: list[str]) -> None:
    index = dict.fromkeys(known, "")
    assert idmap.mentions_any(f'{{"text":"about {PROVIDER[2]}."}}'.encode(), index) is bool(known)
    assert not idmap.mentions_any(f'{{"threadId":"{STRANGER}"}}'.encode(), index)


def delta(thread_id: str, text: str) -> bytes:
    params = {"threadId": thread_id, "turnId": STRANGER, "itemId": "i", "delta": text}
    return msgspec.json.encode(
        {"method": "item/agentMessage/delta", "params": params, "emittedAtMs": 1}
    )


@given(
    st.sampled_from([*PROVIDER, STRANGER]),
    st.text() | st.sampled_from([f'"threadId":"{PROVIDER[3]}"', PROVIDER[1], '\\"threadId":"']),
)
def test_a_delta_changes_its_thread_and_not_its_text(thread_id: str, text: str) -> None:
    assert idmap.rewrite_thread_id(delta(thread_id, text), TO_CLIENT) == delta(
        TO_CLIENT(thread_id, thread_id), text
    )


@given(
    st.sampled_from([PROVIDER[1], STRANGER]),
    st.lists(st.text() | st.just(f'\n{{"threadId":"{PROVIDER[1]}'), min_size=1),
)
def test_a_run_of_deltas_changes_as_each_would_by_itself(thread_id: str, texts: list[str]) -> None:
    lines = [delta(thread_id, text) for text in texts]
    assert idmap.rewrite_thread_id_of_run(lines, TO_CLIENT) == b"\n".join(
        idmap.rewrite_thread_id(line, TO_CLIENT) for line in lines
    )


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b'{"method":"m"}', b'{"threadId":"', b'{"threadId":7}', b'{"threadId":"x"}'],
)
def test_a_delta_without_a_thread_of_ours_is_the_same_line(line: bytes) -> None:
    assert idmap.rewrite_thread_id(line, TO_CLIENT) == line


def test_a_raw_item_stays_byte_for_byte_what_the_model_saw() -> None:
    item = b'{"id": "%b",  "content":[{"text":"1e3 \\/ \\u00e9 %b"}], "n": 1.0e2}' % (
        PROVIDER[0].encode(),
        PROVIDER[1].encode(),
    )
    line = b'{"method":"rawResponseItem/completed","params":{"item":%b,"threadId":"%b","turnId":"t"},"emittedAtMs":9}'
    shown = idmap.rewrite_ids_in_line(line % (item, PROVIDER[0].encode()), TO_CLIENT)
    assert shown == line % (item, STABLE[0].encode())


def test_raw_items_that_a_client_injects_stay_as_they_are() -> None:
    items = b'[{"threadId":"%b", "n": 1.0e2}]' % STABLE[1].encode()
    params = b'{"threadId":"%b","items":%b}'
    assert idmap.rewrite_ids_in_params(
        params % (STABLE[0].encode(), items), TO_PROVIDER
    ) == params % (
        PROVIDER[0].encode(),
        items,
    )


def test_an_error_of_codex_speaks_of_the_thread_by_the_id_the_client_knows() -> None:
    error = f'{{"code":-32600,"message":"thread not found: {PROVIDER[0]} ({STRANGER})"}}'.encode()
    shown = idmap.rewrite_ids_in_error(error, TO_CLIENT)
    assert (
        shown
        == f'{{"code":-32600,"message":"thread not found: {STABLE[0]} ({STRANGER})"}}'.encode()
    )


def test_an_integer_of_more_than_64_bits_keeps_every_digit() -> None:
    message = b'{"threadId":"a","budget":18446744073709551616}'
    assert idmap.rewrite_ids_in_encoded(message, {"a": "b"}.get) == message.replace(b'"a"', b'"b"')
