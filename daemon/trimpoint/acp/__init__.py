"""`trimpoint acp`: an agent for editors that speak the Agent Client Protocol (ACP), version 1.

It runs in a process of its own and is a client of the daemon, which it finds or starts and never
ends. `serve` connects the parts to stdin and stdout, `agent` answers the editor's requests, `login`
logs Codex in. `connection` has the connections to the editor and the daemon, `sessions` the
editor's sessions, `translate` the pure translation, `wire` the message types of ACP.
"""
