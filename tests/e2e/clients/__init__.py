"""What clients ask and are told: as of Codex itself, and by our own methods."""
