"""An MCP server over stdio with one tool, `ask`, which asks a person (elicitation) and returns the
answer. It is run as a script.
"""

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "asking", "version": "1"},
        }
    if method == "tools/list":
        return {
            "tools": [
                {
                    "name": "ask",
                    "description": "Ask a person.",
                    "inputSchema": {"type": "object", "properties": {}},
                }
            ]
        }
    return {}


def main() -> None:
    call_id: Any = None
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            call_id = message["id"]
            send(
                {
                    "id": "elicited",
                    "method": "elicitation/create",
                    "params": {"message": "Which one?", "requestedSchema": SCHEMA},
                }
            )
        elif message.get("id") == "elicited":
            said = json.dumps(message.get("result", message.get("error")))
            send(
                {
                    "id": call_id,
                    "result": {"content": [{"type": "text", "text": said}], "isError": False},
                }
            )
        elif "id" in message and "method" in message:
            send(
                {
                    "id": message["id"],
                    "result": result_of(message["method"], message.get("params") or {}),
                }
            )


if __name__ == "__main__":
    main()
