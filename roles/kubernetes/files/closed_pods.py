#!/usr/bin/python3 -IS
"""A plugin of CNI that comes after flannel's: it tells the rules of this node which addresses are pods of workspaces.

It runs before a pod begins and after it has gone, so that no pod of a workspace ever runs with open ports or beside
pods of another workspace. What it has said stays in one file per address: the rules read those whenever they are loaded
anew. A pod of a workspace that cannot be closed does not begin; all others begin whatever happens here.
"""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

FOLDER = Path("/run/groundcrew-closed-pods")
NFT = ["/usr/sbin/nft"]
CONNTRACK = ["/usr/sbin/conntrack"]
TABLE = "inet groundcrew_pods"
WORKSPACES = "gc-workspace-"
"""How the namespaces of workspaces begin; the workspace's number follows."""
WORKSPACE_OF_RULES = re.compile("jump from_([0-9]+)")
NONE_ENDED = "0 flow entries have been deleted"
CANNOT_CLOSE = 100


class CannotClose(Exception):
    """The rules of this node do not take it."""


def main() -> int:
    """Everything is said by the environment and on stdin; what comes back on stdout is what flannel has said."""
    told = json.load(sys.stdin)
    verb, container = os.environ.get("CNI_COMMAND", ""), os.environ.get("CNI_CONTAINERID", "")
    if verb == "VERSION":
        say({"cniVersion": told["cniVersion"], "supportedVersions": [told["cniVersion"]]})
    elif verb == "ADD":
        try:
            add(told["prevResult"], container, namespace_of(os.environ.get("CNI_ARGS", "")))
        except (CannotClose, OSError) as problem:
            say({"cniVersion": told["cniVersion"], "code": CANNOT_CLOSE, "msg": f"groundcrew: {problem}"})
            return 1
        say({"cniVersion": told["cniVersion"], **told["prevResult"]})
    elif verb == "DEL":
        forget(container)
    return 0


def say(answer: dict[str, Any]) -> None:
    json.dump(answer, sys.stdout)


def namespace_of(arguments: str) -> str:
    """`IgnoreUnknown=1;K8S_POD_NAMESPACE=NAMESPACE;K8S_POD_NAME=NAME`, as the container engine writes them."""
    said = dict(each.split("=", 1) for each in arguments.split(";") if "=" in each)
    return said.get("K8S_POD_NAMESPACE", "")


def add(result: dict[str, Any], container: str, namespace: str) -> None:
    """Raises CannotClose, OSError, for pods of workspaces alone."""
    addresses = [str(each["address"]).partition("/")[0] for each in result.get("ips") or ()]
    if not namespace.startswith(WORKSPACES):
        for address in addresses:
            open_again(file_of(address))
            with suppress(CannotClose, OSError):
                end_connections(address)
        return
    workspace = namespace[len(WORKSPACES) :]
    if not workspace.isdecimal():
        raise CannotClose(f"{namespace} has no workspace's number")
    if not addresses:
        raise CannotClose("the pod has no address")
    for address in addresses:
        close(address, workspace, container)


def close(address: str, workspace: str, container: str) -> None:
    """First the file, then the rules: who loads them anew in between reads it there."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    file = file_of(address)
    open_again(file)
    write(file, f"# {container}\n{rules_of(address, workspace)}")
    problem = tell("--file", str(file))
    if problem:
        # The rules know the address of another workspace's pod whose end nobody told here.
        remove(address, workspace)
        problem = tell("--file", str(file))
    if problem:
        raise CannotClose(f"{address} cannot be closed: {problem}")
    end_connections(address)


def rules_of(address: str, workspace: str) -> str:
    """One transaction, that may be said again: the workspace's sets and chains, and the address in them."""
    ours, others, sends, gets = (f"{name}_{workspace}" for name in ("local", "remote", "from", "to"))
    lines = [
        *(f"add set {TABLE} {name} {braced('type ipv4_addr;')}" for name in (ours, others)),
        *(f"{verb} chain {TABLE} {name}" for name in (sends, gets) for verb in ("add", "flush")),
        *(f"add rule {TABLE} {sends} ip daddr @{name} return" for name in (ours, others)),
        f"add rule {TABLE} {sends} goto outside",
        *(f"add rule {TABLE} {gets} ip saddr @{name} return" for name in (ours, others)),
        f"add rule {TABLE} {gets} goto inside",
        f"add element {TABLE} workspaces {braced(address)}",
        f"add element {TABLE} {ours} {braced(address)}",
        f"add element {TABLE} senders {braced(f'{address} : jump {sends}')}",
        f"add element {TABLE} receivers {braced(f'{address} : jump {gets}')}",
    ]
    return "\n".join(lines) + "\n"


def braced(text: str) -> str:
    """In this file no two braces stand together, by which Ansible would know a variable."""
    return "{ " + text + " }"


def remove(address: str, workspace: str) -> None:
    """Each by itself: the table may be gone, or be from before one of its sets."""
    for name in ("senders", "receivers", f"local_{workspace}", "workspaces"):
        tell(f"delete element {TABLE} {name} {braced(address)}")


def end_connections(address: str) -> None:
    """The address may have been another pod's: what was let through to that one is not for this one."""
    for side in ("--orig-src", "--orig-dst"):
        done = subprocess.run([*CONNTRACK, "--delete", side, address], capture_output=True, text=True)
        if done.returncode != 0 and NONE_ENDED not in done.stderr:
            said = " ".join(done.stderr.split())[:400]
            raise CannotClose(f"connections of {address} cannot be ended: {said}")


def tell(*words: str) -> str:
    """The rules' refusal, empty where they have taken it."""
    done = subprocess.run([*NFT, *words], capture_output=True, text=True)
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[:400] or "nft refuses"


def open_again(file: Path) -> None:
    """The address may be another pod's now. A file stays, empty: there are as many as a node has addresses."""
    with suppress(OSError):
        text = file.read_text() if file.exists() else ""
        if text:
            known = WORKSPACE_OF_RULES.search(text)
            remove(file.stem, known[1] if known else "")
            write(file, "")


def forget(container: str) -> None:
    for file in FOLDER.glob("*.nft"):
        if file.read_text().startswith(f"# {container}\n"):
            open_again(file)


def file_of(address: str) -> Path:
    return FOLDER / f"{address}.nft"


def write(file: Path, text: str) -> None:
    """Never half of it; files that begin with a dot are read by nobody."""
    half = file.with_name(f".{file.name}.{os.getpid()}")
    half.write_text(text)
    half.replace(file)


if __name__ == "__main__":
    raise SystemExit(main())
