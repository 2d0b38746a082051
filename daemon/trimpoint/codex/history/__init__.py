"""Reads conversations that Codex has stored. `rollout_files` reads the files, `rollout` finds the
turns' raw items in them, and `model_input` derives the model's next input.
"""
