"""What the context holds, how full it is, what is found in the history, and turns that do not fit."""
