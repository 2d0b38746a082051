"""One module for each command that acts on a thread; `prompt` sends a prompt for `probe`."""
