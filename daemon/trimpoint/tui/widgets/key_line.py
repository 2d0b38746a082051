"""Lines that name keys: a click on the words does what the key does."""

from textual import events
from textual.widget import Widget
from textual.widgets import Static

from trimpoint.tui.model.clicks import key_clicked


def press(widget: Widget, key: str) -> None:
    """Does what the key does where the widget is."""
    getattr(widget, "app").simulate_key(key)  # noqa: B009 - its type is not wholly known


def act(widget: Widget, action: str) -> None:
    """Does what is called so, whatever key a person has given it."""
    app = getattr(widget, "app")  # noqa: B009
    app.call_later(app.run_action, action)


class KeyLine(Static):
    """A text whose `keyed` words can be clicked."""

    def on_click(self, event: events.Click) -> None:
        """Presses the key whose words are clicked."""
        if (key := key_clicked(event.style)) is not None:
            event.stop()
            press(self, key)
