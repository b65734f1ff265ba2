"""Speaks to the server of a notebook from the master, where the portal is."""

import json
from typing import Any

from tests.hosts.appliance.repair_scenarios import in_python
from tests.hosts.machines.testbed import Host

ASKS = """
import json
import httpx
with httpx.Client(base_url={url!r}, timeout=30, trust_env=False) as client:
    said = [
        client.get("/api/status", headers=headers).status_code
        for headers in ({{}}, {{"Authorization": "token another"}}, {{"Authorization": {token!r}}})
    ]
print(json.dumps(said))
"""

RUNS = """
import json
import httpx
import websocket
url, headers = {url!r}, {{"Authorization": {token!r}}}
with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
    made = client.post("/api/kernels").raise_for_status().json()["id"]
    way = websocket.create_connection(
        url.replace("http:", "ws:") + f"/api/kernels/{{made}}/channels",
        header=[f"Authorization: {{headers['Authorization']}}"], timeout=60)
    about = {{"msg_id": "1", "msg_type": "execute_request", "session": "1", "username": "", "version": "5.3"}}
    content = {{"code": {code!r}, "silent": False, "store_history": False, "allow_stdin": False}}
    way.send(json.dumps({{"header": about, "parent_header": {{}}, "metadata": {{}}, "content": content,
                          "channel": "shell", "buffers": []}}))
    said, reply, is_idle = [], "", False
    while not (reply and is_idle):  # They come by two channels, each in its own time.
        message = json.loads(way.recv())
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != "1":
            continue
        if kind == "stream":
            said.append(content["text"])
        elif kind == "error":
            said.append(content["evalue"])
        elif kind == "execute_reply":
            reply = content["status"]
        elif kind == "status":
            is_idle = content["execution_state"] == "idle"
    way.close()
    client.delete(f"/api/kernels/{{made}}").raise_for_status()
print(json.dumps({{"status": reply, "said": "".join(said)}}))
"""


def ask_status(host: Host, url: str, token: str) -> list[int]:
    """What is answered without a token, with another one, and with its own."""
    return list(json.loads(in_python(host, ASKS.format(url=url, token=f"token {token}"))))


def run_cell(host: Host, url: str, token: str, code: str) -> dict[str, Any]:
    """`status` as Jupyter calls it, and what the cell has `said`."""
    told = in_python(host, RUNS.format(url=url, token=f"token {token}", code=code))
    return dict(json.loads(told))
