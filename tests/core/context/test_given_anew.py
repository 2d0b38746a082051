"""The context as a new provider thread is given it is what the present one was given, and its turns."""

from trimpoint.core.context.generations import bootstrap_items, context_for_new_provider_thread

from tests.core.given import started, texts


def test_a_fresh_generation_would_be_given_the_same_again() -> None:
    thread = started(turns=4)
    thread.clear(2)
    state = thread.state
    assert context_for_new_provider_thread(state) == bootstrap_items(state, state.generation)


def test_what_ran_since_is_in_it_too() -> None:
    thread = started(turns=4)
    thread.clear(1)
    thread.turn()
    given = texts(context_for_new_provider_thread(thread.state))
    assert [text for text in given if text.startswith("prompt")] == [
        "prompt of turn-4",
        "prompt of turn-5",
    ]
