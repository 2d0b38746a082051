"""What Codex and other programs do: threads they had before or went on with, settings, sub-agents, reviews."""
