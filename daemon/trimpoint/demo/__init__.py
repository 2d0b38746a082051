"""The product in a minute: the real Codex, a scripted model, and what the model is sent before and
after each trim.

`story` runs it, on the `stage`, with the lines of `script`; `model_input` reads what the model was
sent, `show` draws it.
"""
