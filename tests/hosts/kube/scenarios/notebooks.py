"""Starts a notebook, which no page asks for yet, and speaks to it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.hosts.appliance.repair_scenarios import in_python
from tests.hosts.machines.testbed import Host

UNIT = "groundcrew-scheduler"
SETTINGS = f"/run/systemd/system/{UNIT}.service.d"
PROGRAM = "/run/groundcrew-notebooks.py"
TOKEN = "a-token-of-the-tests"
COMMAND = "notebook"
"""A job whose command this is becomes one; every other job begins as always."""
SCHEDULER = f"""
from dataclasses import replace
from cluster.domain.jobs import launch
from cluster.domain.notebooks import jupyter_server
from cluster.domain.notebooks.jupyter_server import NotebookPlaces
from cluster.domain.states import Launcher
from worker.__main__ import main
from worker.images.description import ENVIRONMENT_PATH
from worker.kubernetes.manifests.pod_template import RUNTIME_INSIDE
from worker.kubernetes.manifests.run_spec import GangKind
from worker.scheduling import attempt_starts

read = attempt_starts.build_start_plan

def read_notebook(*words):
    plan = read(*words)
    if plan.program.argv[-1] != {COMMAND!r}:
        return plan
    python = f"{{ENVIRONMENT_PATH}}/bin/python"
    places = NotebookPlaces(python, python, str(RUNTIME_INSIDE), plan.program.environment["GROUNDCREW_OUT"])
    notebook = jupyter_server.notebook_program(places)
    command = launch.local_launch_plan(Launcher.PLAIN, python, RUNTIME_INSIDE, 1, notebook).command
    told = dict(plan.program.environment)
    told |= jupyter_server.notebook_environment(plan.job, {TOKEN!r}, places, told)
    program = replace(plan.program, argv=command, environment=told)
    return replace(plan, program=program, placement=replace(plan.placement, gang=GangKind.NOTEBOOK))

attempt_starts.build_start_plan = read_notebook
raise SystemExit(main(["scheduler"]))
"""
INSTEAD = f"[Service]\nExecStart=\nExecStart=/opt/groundcrew/current/bin/python -P {PROGRAM}\n"


@contextmanager
def begins_notebooks(master: Host) -> Iterator[None]:
    """The product's own scheduler, in its own unit with its own rights, but for what it reads as a plan."""
    master.ask(f"mkdir -p {SETTINGS} && cat > {PROGRAM} <<'END'\n{SCHEDULER}END\n")
    master.ask(f"cat > {SETTINGS}/notebooks.conf <<'END'\n{INSTEAD}END\n")
    restart = f"systemctl daemon-reload && systemctl restart {UNIT}"
    try:
        master.ask(restart)
        yield
    finally:
        master.ask(f"rm -r {SETTINGS} {PROGRAM} && {restart}")


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


def ask_status(host: Host, url: str) -> list[int]:
    """What is answered without a token, with another one, and with its own."""
    return list(json.loads(in_python(host, ASKS.format(url=url, token=f"token {TOKEN}"))))


def run_cell(host: Host, url: str, code: str) -> dict[str, Any]:
    """`status` as Jupyter calls it, and what the cell has `said`."""
    told = in_python(host, RUNS.format(url=url, token=f"token {TOKEN}", code=code))
    return dict(json.loads(told))
