"""Reviews within a thread, which Codex reports as no other turn (measured: codex 0.163).

A review that `review/start` begins inline is a turn of the thread. Another model call does the
work, in a turn of its own: only that one is in `turn/started`, while all items and `turn/completed`
have the id of the review. The first item of a review is `enteredReviewMode`; it comes before
`turn/started`.
"""

from trimpoint.core.model.state import ThreadState

ENTERED = "enteredReviewMode"
# Where a raw item says which turn it belongs to.
ITEM_METADATA = "internal_chat_message_metadata_passthrough"


def is_in_review(state: ThreadState) -> bool:
    """Returns whether the running turn is a review, so that a turn that begins now is its
    reviewer's.
    """
    if state.running_turn_id is None:
        return False
    first = state.turns[state.turn_index[state.running_turn_id]].first_entry_index
    return first < len(state.entries) and state.entries[first].role == ENTERED
