"""Reads conversations that Codex has stored. `rollout_files` reads the files, `rollout` finds the
turns' raw items in them, `model_input` derives the model's next input, `adoption` reads a whole
thread, and `resync` reads turns that ran without the daemon.
"""
