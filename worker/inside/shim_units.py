"""(merged) Reads which GPUs a container was given: from the environment, or from the driver in /proc."""

import os
from typing import Any, Dict, List

DRIVER = "/proc/driver/nvidia/gpus"
IDENTITIES = ("GPU-", "MIG-")


def container_facts() -> Dict[str, Any]:
    """`gpus` by their UUIDs and `node`, each where it is known; nothing in a container without either."""
    found = {}  # type: Dict[str, Any]
    gpus = gpus_in_environment() or gpus_in_proc()
    if gpus:
        found["gpus"] = gpus
    if os.environ.get("GROUNDCREW_NODE"):
        found["node"] = os.environ["GROUNDCREW_NODE"]
    return found


def gpus_in_environment() -> List[str]:
    words = os.environ.get("NVIDIA_VISIBLE_DEVICES", "").split(",")
    return sorted(word for word in words if word.startswith(IDENTITIES))


def gpus_in_proc() -> List[str]:
    """The line `GPU UUID:  GPU-…` of each, for devices that were given by CDI."""
    found = []
    try:
        for name in os.listdir(DRIVER):
            with open(os.path.join(DRIVER, name, "information")) as file:
                for line in file:
                    key, _, value = line.partition(":")
                    if key == "GPU UUID" and value.strip().startswith(IDENTITIES):
                        found.append(value.strip())
    except OSError:
        return []
    return sorted(found)
