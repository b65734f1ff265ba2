#!/usr/bin/python3 -IS
"""A plugin of CNI that comes after flannel's: it tells the rules of this node which addresses are pods of workspaces.

It runs before a pod begins and after it has gone, so that no pod of a workspace ever runs with open ports. What it has
said stays in one file per address: the rules read those whenever they are loaded anew. A pod of a workspace that
cannot be closed does not begin; all others begin whatever happens here.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

FOLDER = Path("/run/groundcrew-closed-pods")
NFT = ["/usr/sbin/nft"]
TABLE = "inet groundcrew_pods"
WORKSPACES = "gc-workspace-"
"""How the namespaces of workspaces begin."""
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
        return
    if not addresses:
        raise CannotClose("the pod has no address")
    for address in addresses:
        close(address, container)


def close(address: str, container: str) -> None:
    """First the file, then the rules: who loads them anew in between reads it there."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    write(file_of(address), f"# {container}\nadd element {element_of(address)}\n")
    done = subprocess.run([*NFT, "--file", str(file_of(address))], capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotClose(f"{address} cannot be closed: {' '.join(done.stderr.split())[:400]}")


def open_again(file: Path) -> None:
    """The address may be another pod's now. A file stays, empty: there are as many as a node has addresses."""
    with suppress(OSError):
        if file.exists() and file.read_text():
            # It may be gone with its table.
            subprocess.run([*NFT, f"delete element {element_of(file.stem)}"], capture_output=True)
            write(file, "")


def forget(container: str) -> None:
    for file in FOLDER.glob("*.nft"):
        if file.read_text().startswith(f"# {container}\n"):
            open_again(file)


def element_of(address: str) -> str:
    return " ".join((TABLE, "workspaces {", address, "}"))


def file_of(address: str) -> Path:
    return FOLDER / f"{address}.nft"


def write(file: Path, text: str) -> None:
    """Never half of it; files that begin with a dot are read by nobody."""
    half = file.with_name(f".{file.name}.{os.getpid()}")
    half.write_text(text)
    half.replace(file)


if __name__ == "__main__":
    raise SystemExit(main())
