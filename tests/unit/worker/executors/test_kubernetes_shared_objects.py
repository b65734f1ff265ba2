"""Objects that runs of a workspace share are created once, also if many begin at the same moment."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.unit.worker.kubernetes.manifests.test_workloads import RUN
from worker.executors.kubernetes_run_spec import RuntimeConfigMaps
from worker.executors.kubernetes_shared_objects import SharedObjectCreator
from worker.kubernetes.api_client import KubernetesObject

AT_ONCE = 8


class Door:
    """Answers slowly, as a server far away."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()

    def create(self, thing: KubernetesObject) -> KubernetesObject:
        self.made[f"{thing['kind']} {thing['metadata']['name']}"] += 1
        time.sleep(0.01)
        return thing

    def get(self, kind: str, name: str) -> None:
        return None


def test_many_starts_at_once_make_it_once(tmp_path: Path) -> None:
    door, gate = Door(), threading.Barrier(AT_ONCE)
    api: Any = door
    (tmp_path / "models").mkdir()
    for name in ("shim.py", "models/lenet.py"):
        (tmp_path / name).touch()
    shared = SharedObjectCreator(api, RuntimeConfigMaps(tmp_path))

    def start(_: int) -> None:
        gate.wait()
        shared.ensure(RUN)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(start, range(AT_ONCE)))
    assert len(door.made) == 6 and set(door.made.values()) == {1}, (
        "the runtime's two folders, and two volumes with their claims"
    )
