"""What all readers need of text: `lines` splits a stream, `lenient` decodes a line that is not as
it should be.
"""
