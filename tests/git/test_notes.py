import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.git.capture.omissions import (
    LeftOutReason,
    Omission,
    message_of,
    notes_of,
    read_message,
)
from trimpoint.git.errors import FilesChanged, RestoreFailed, name_paths
from trimpoint.git.plumbing.permissions import Permissions

_REASONS: list[LeftOutReason] = [
    "tooLarge",
    "unreadable",
    "nestedRepository",
    "notAFile",
    "sparse",
    "secret",
    "tooMuch",
]


@given(
    st.lists(
        st.builds(
            Omission,
            st.binary(min_size=1),
            st.sampled_from(_REASONS),
            st.none() | st.integers(0, 2**60),
        )
    ),
    st.none()
    | st.builds(
        Permissions,
        st.integers(0o400, 0o677),
        st.integers(0o700, 0o777),
        st.dictionaries(st.binary(min_size=1), st.integers(0o1, 0o777)),
    ),
    st.frozensets(st.binary(min_size=1)),
)
def test_a_commit_message_is_read_back(
    left_out: list[Omission], permissions: Permissions | None, ignoring_changed: frozenset[bytes]
) -> None:
    message = message_of(left_out, permissions, ignoring_changed)
    assert read_message(message) == (tuple(left_out), permissions, ignoring_changed)
    assert read_message(message + "\n") == (tuple(left_out), permissions, ignoring_changed)
    assert message.isascii()


def test_a_commit_message_of_another_author_is_not_read() -> None:
    with pytest.raises(ValueError, match="Fix it"):
        read_message("Fix it\n\nPlease.\n")


def test_each_omission_is_worded_with_its_reason() -> None:
    said = [str(Omission(b"new\nline/", reason, 1234)) for reason in _REASONS]
    assert said == [
        "'new\\nline/' is too large (1,234 bytes)",
        "'new\\nline/' cannot be read",
        "'new\\nline/' is a repository of its own",
        "'new\\nline/' is neither a file nor a link",
        "'new\\nline/' lies outside of the sparse checkout",
        "'new\\nline/' is called like a secret (see checkpoints.secret_names)",
        "'new\\nline/' is too much together with other untracked files (see checkpoints.max_untracked_bytes)",
    ]


def test_omissions_of_a_kind_that_can_be_many_share_one_sentence() -> None:
    many = [Omission(b"%d" % number, "tooMuch", 1000) for number in range(7)]
    secrets = [Omission(b".env", "secret"), Omission(b"id_rsa", "secret")]
    assert notes_of([*many, *secrets, Omission(b"big", "tooLarge", 5)]) == [
        "big is too large (5 bytes)",
        "called like secrets (checkpoints.secret_names): .env, id_rsa",
        "too much (checkpoints.max_untracked_bytes): 7 untracked files of 7,000 bytes, 0, 1, 2, 3, 4 and 2 more",
    ]
    assert "1 untracked file of 1,000 bytes, 0" in notes_of(many[:1])[0]
    assert notes_of([]) == []


def test_many_paths_are_named_in_part() -> None:
    assert name_paths([b"%d" % number for number in range(8)]) == "0, 1, 2, 3, 4 and 3 more"
    assert name_paths([b"\xff"]) == "'\\xff'"
    assert str(FilesChanged([b"a"])).endswith("so nothing was: a.")
    failed = RestoreFailed(b"a", "No space left on device", [b"b"])
    assert (
        str(failed)
        == "The files could not be restored: a: No space left on device. Could not be put back as they were: b."
    )
