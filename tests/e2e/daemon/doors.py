"""A program that tries every way into the daemon, as an agent's command or a program in a sandbox
would, and writes what it was answered to a file.

It stands alone: it runs where nothing of trimpoint can be imported.
"""

import json
import socket
import sys

SETTING = {"cwd": "/", "sandbox": "danger-full-access", "approvalPolicy": "never"}
REQUESTS = {
    "answers an approval": {"id": 0, "result": {"decision": "accept"}},
    "begins a thread": {"id": 1, "method": "thread/start", "params": SETTING},
    "begins a turn": {"id": 1, "method": "turn/start", "params": {"threadId": "x", "input": []}},
    "chooses a profile": {"id": 1, "method": "sidecar/useProfile", "params": {"codex": "/bin/sh"}},
    "runs a command": {"id": 1, "method": "command/exec", "params": {"command": ["id"]}},
    "reads threads": {"id": 1, "method": "thread/list", "params": {}},
}


def asked(family: int, place: object, sent: bytes) -> str:
    """Returns what is answered until the end of the connection, or the error of the system."""
    try:
        with socket.socket(family) as sock:
            sock.settimeout(20)
            sock.connect(place)
            sock.sendall(sent)
            answer = b""
            while not answer.startswith(b"HTTP/1.1 101") and (data := sock.recv(65536)):
                answer += data
            return answer.decode()
    except OSError as error:
        return f"{type(error).__name__}"


def request(method: str, target: str, *headers: str) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def posted(target: str, body: str) -> bytes:
    headers = ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return request("POST", target, *headers) + body.encode()


def tried(path: str, port: int, token: str, login: str, code: str) -> dict[str, str]:
    doors = {}
    first = {
        "id": 1,
        "method": "initialize",
        "params": {"clientInfo": {"name": "a", "version": "1"}},
    }
    for name, message in REQUESTS.items():
        lines = [first, message] if name == "answers an approval" else [message, first]
        sent = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        doors[f"socket: {name}"] = asked(socket.AF_UNIX, path, sent)
    reads = request("GET", "/api/v1/threads")
    doors["socket: HTTP"] = asked(socket.AF_UNIX, path, reads)
    place = ("127.0.0.1", port)
    for name, header in (
        ("token", f"Authorization: Bearer {token}"),
        ("login", f"Authorization: Bearer {login}"),
    ):
        sent = request("GET", "/api/v1/threads", header)
        doors[f"TCP: {name}"] = asked(socket.AF_INET, place, sent)
        upgrade = [header, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        sent = request("GET", "/rpc", *upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        doors[f"TCP: WebSocket, {name}"] = asked(socket.AF_INET, place, sent)
    doors["TCP: code"] = asked(socket.AF_INET, place, posted("/login", json.dumps({"code": code})))
    return doors


if __name__ == "__main__":
    output, path, port, *proofs = sys.argv[1:]
    found = tried(path, int(port), *proofs)
    with open(output, "w") as file:
        json.dump(found, file)
