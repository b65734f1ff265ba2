"""Builds the body of `POST /containers/create` for one attempt, as a pure function of its plan.

Docker Engine API v1.41, https://docs.docker.com/engine/api/v1.41/#tag/Container/operation/ContainerCreate. An image
determines only its files; user, entrypoint, devices and privileges come from the plan.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worker.executors.contract import PlacementPlan, StartPlan

RUNTIME_INSIDE = Path("/groundcrew/runtime")
FOLDER_INSIDE = Path("/groundcrew/attempt")
MEMORY_FILES_BYTES = 1024**3
"""The size of /tmp and /dev/shm if the attempt has no memory limit. With a limit, each has half of it and counts
towards it.
"""
MOST_PROCESSES = 4096
NO_GPU = "void"
"""This value hides all GPUs even if NVIDIA's runtime is the engine's default and the image asks for all of them."""


def create_request(
    plan: StartPlan, name: str, labels: Mapping[str, str], user: tuple[int, int], gpus: str, network: str
) -> dict[str, Any]:
    """`user` is uid and gid and never root. `gpus` is how GPUs are requested: `nvidia` or `cdi`."""
    if 0 in user:
        raise ValueError("a job never runs as root in a container")
    return {
        "Image": plan.container.image,
        "Hostname": name[:63],
        "User": "{}:{}".format(*user),
        "Entrypoint": ["/usr/bin/env", "python3", "-I", "-S", f"{RUNTIME_INSIDE}/shim.py"],
        "Cmd": [str(FOLDER_INSIDE), "attached"],
        "Env": [
            f"NVIDIA_VISIBLE_DEVICES={','.join(plan.placement.gpus) or NO_GPU}",
            "LD_PRELOAD=",
            "LC_ALL=C.UTF-8",
        ],
        "WorkingDir": "/",
        "StopSignal": "SIGTERM",
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": dict(labels),
        "HostConfig": {
            **container_confinement(),
            **container_limits(plan.placement),
            "NetworkMode": network,
            # Ranks resolve their own host name. Without a network the engine does not write it into /etc/hosts.
            "ExtraHosts": [f"{name[:63]}:127.0.0.1"] if network == "none" else [],
            "Mounts": container_mounts(plan),
            "DeviceRequests": gpu_requests(plan.placement.gpus, gpus),
            "RestartPolicy": {"Name": "no"},
            "Init": True,
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}},
        },
    }


def container_confinement() -> dict[str, Any]:
    return {
        "Privileged": False,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
        "ReadonlyRootfs": True,
        "IpcMode": "private",
        "PidMode": "",
        "UTSMode": "",
        "PublishAllPorts": False,
    }


def container_limits(placement: PlacementPlan) -> dict[str, Any]:
    memory = placement.memory_bytes
    in_memory = memory // 2 if memory else MEMORY_FILES_BYTES
    asked: dict[str, Any] = {
        "PidsLimit": placement.most_processes or MOST_PROCESSES,
        "ShmSize": in_memory,
        "Tmpfs": {"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={in_memory}"},
    }
    if memory:
        # Memory and swap together get the same limit as memory alone: a training that swaps makes no progress.
        asked |= {"Memory": memory, "MemorySwap": memory}
    if placement.cpus:
        asked["NanoCpus"] = round(placement.cpus * 10**9)
    return asked


def container_mounts(plan: StartPlan) -> list[dict[str, Any]]:
    """The attempt's two folders are writable, all others as the plan says. The engine refuses a missing source."""
    own = [
        {"Type": "bind", "Source": str(plan.folder / part), "Target": str(FOLDER_INSIDE / part)}
        for part in ("control", "out")
    ]
    given = [
        {
            "Type": "bind",
            "Source": str(each.source),
            "Target": str(each.target),
            "ReadOnly": not each.is_writable,
        }
        for each in plan.container.mounts
    ]
    return [*own, *given]


def gpu_requests(uuids: tuple[str, ...], way: str) -> list[dict[str, Any]]:
    """Requests exactly these GPUs. With CDI the engine reads the devices from the specification of nvidia-ctk."""
    if not uuids:
        return []
    if way == "cdi":
        return [{"Driver": "cdi", "DeviceIDs": [f"nvidia.com/gpu={uuid}" for uuid in uuids]}]
    return [{"Driver": "nvidia", "DeviceIDs": list(uuids), "Capabilities": [["gpu", "compute", "utility"]]}]
