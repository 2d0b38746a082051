"""The requests of clients. `request` is one request with its one answer, `ordered_request` keeps
the order of Codex's answers, `dispatch` calls trimpoint's own methods, `errors` turns exceptions
into error objects, `sizes` refuses what is larger than it can be, and `experimental_gate` refuses
experimental requests of clients that did not ask for the experimental API.
"""
