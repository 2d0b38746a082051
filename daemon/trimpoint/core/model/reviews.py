"""Recognizes reviews, which Codex reports differently from all other turns (measured: codex 0.163).

A review that `review/start` begins inline is a turn of the thread. Another model call does the
work, in a turn of its own. Only this second turn is in `turn/started`, but all items and
`turn/completed` have the id of the review. The first item of a review is `enteredReviewMode`; it
comes before `turn/started`.
"""

from trimpoint.core.model.state import ThreadState

ENTERED = "enteredReviewMode"
# The member of a raw item that holds the id of its turn.
ITEM_METADATA = "internal_chat_message_metadata_passthrough"


def is_in_review(state: ThreadState) -> bool:
    """Returns whether the running turn is a review. If so, a turn that starts now is the reviewer's
    own.
    """
    if state.running_turn_id is None:
        return False
    first = state.turns[state.turn_index[state.running_turn_id]].first_entry_index
    return first < len(state.entries) and state.entries[first].role == ENTERED
