"""Text for all readers: `lines` splits a stream, `lenient` decodes damaged lines."""
