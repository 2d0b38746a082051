"""Lines that name keys: a click on the words does what the key does."""

from textual import events
from textual.widget import Widget
from textual.widgets import Static

from trimpoint.tui.model.clicks import key_clicked


def press(widget: Widget, key: str) -> None:
    """Does what the key does where the widget is."""
    getattr(widget, "app").simulate_key(key)  # noqa: B009 - its type is not wholly known


class KeyLine(Static):
    """A text whose names of keys can be clicked."""

    def on_click(self, event: events.Click) -> None:
        """Presses the key whose words are clicked."""
        at = event.get_content_offset(self)
        key = None if at is None else key_clicked(self.render_line(at.y).text, at.x)
        if key is not None:
            event.stop()
            press(self, key)
