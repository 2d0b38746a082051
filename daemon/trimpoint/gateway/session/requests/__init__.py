"""The requests of clients: `request` is one with its one answer, `ordered_request` keeps the order
of Codex's answers, `dispatch` calls trimpoint's own methods, `errors` turns exceptions into error
objects, `experimental_gate` refuses requests of the experimental API.
"""
