"""`trimpoint acp`: Codex with trimpoint for editors that speak the Agent Client Protocol, version
1.

A process of its own, and a client of the daemon, which it finds or starts and never ends. `serve`
puts it together, `agent` answers the editor, `login` logs Codex in. `connection` has both
connections, `sessions` what an editor works with, `translate` the pure part, `wire` the structs of
ACP.
"""
