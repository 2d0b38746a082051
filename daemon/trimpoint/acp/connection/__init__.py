"""The two connections: `stdio` to the editor, `daemon` to the daemon, and on both the same JSON-RPC
`peer`. `editor` is what is said to the editor."""
