"""Prints which confinement features this machine supports, as one line of JSON.

    python3 -I -S shim_confinement.py <first uid> <last uid>

The scheduler starts it in the way in which it starts a shim, so that it has a shim's rights. It also blocks the
metadata addresses for these users.
"""

import json
import os
import sys
from typing import Any, Dict

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import shim_cgroup
import shim_cloud_metadata
import shim_sandbox


def read_confinement_features(first: int, last: int) -> Dict[str, Any]:
    """{feature: whether it is enforced}. `stop` has the name of the method instead, and `refused` the kernel's
    errors.
    """
    refused = dict(
        shim_sandbox.read_mount_features(),
        metadata_address=shim_cloud_metadata.block_cloud_metadata(first, last),
    )
    powers: Dict[str, Any] = {power: why is None for power, why in refused.items()}
    powers.update(shim_cgroup.read_cgroup_features())
    powers.update(root=os.geteuid() == 0, refused={power: why for power, why in refused.items() if why})
    return powers


if __name__ == "__main__":
    print(json.dumps(read_confinement_features(int(sys.argv[1]), int(sys.argv[2]))))
