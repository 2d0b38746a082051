"""Shows the product in a minute: with the real Codex and a scripted model, it shows the model's
input before and after each trim.

`story` runs the demo on the `stage` with the conversation in `script`. `model_input` reads the
model's input, `show` prints it, and `proof` checks it.
"""
