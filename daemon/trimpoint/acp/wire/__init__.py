"""Defines an editor's wire: ACP v1 as structs. `content` blocks and tool calls, `updates` of a
session, `requests` of an editor, `answers` to them, and what each side `capabilities` offers.
"""
