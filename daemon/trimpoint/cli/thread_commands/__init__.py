"""One module for each command that acts on a thread; `prompt` runs a prompt for `probe`."""
