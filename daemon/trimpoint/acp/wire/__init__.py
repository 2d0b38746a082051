"""The messages of ACP v1 as structs: `content` blocks and tool calls, `updates` of a session,
`requests` of an editor, `answers` to them, and the `capabilities` of both sides.
"""
