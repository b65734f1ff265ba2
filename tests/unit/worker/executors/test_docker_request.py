"""The requests that the engine gets, recorded whole: what changes there changes what a job may do."""

import json
from pathlib import Path

import pytest

from tests.start_plans import a_start_plan, change_plan
from worker.executors.contract import Mount, StartPlan
from worker.executors.docker_request import FOLDER_INSIDE, RUNTIME_INSIDE, create_request

RECORDED = Path(__file__).parents[3] / "data" / "engine"
GPUS = ("GPU-8f1b0c1e-3b0a-4f5d-9a57-0c8f6d2e4b11", "GPU-1d4b9a02-77c3-41be-8e0e-5a3c9d7f6e22")

PLAN = a_start_plan(
    job=1042,
    attempt=2,
    folder=Path("/var/lib/groundcrew/storage/workspaces/3/jobs/1042/2"),
    argv=("python", "train.py"),
    environment={"GROUNDCREW_OUT": str(FOLDER_INSIDE / "out")},
    ranks=2,
    code=Path("/groundcrew/code"),
    uid=100_007,
    gid=100_003,
    image="registry.example/groundcrew/training:1.0",
    mounts=(
        Mount(Path("/var/lib/groundcrew/runtime/1a2b3c"), RUNTIME_INSIDE),
        Mount(Path("/data/digits"), Path("/groundcrew/dataset")),
        Mount(Path("/var/lib/groundcrew/storage/workspaces/3/code/9/4"), Path("/groundcrew/code")),
    ),
    folder_inside=FOLDER_INSIDE,
    memory_bytes=64 * 1024**3,
    cpus=4.0,
)


def request(plan: StartPlan, gpus: str = "nvidia", network: str = "none") -> dict[str, object]:
    labels = {"groundcrew.job": "1042", "groundcrew.attempt": "2", "groundcrew.fence": "2"}
    return create_request(plan, "gc-1042-2-1a2b3c4d", labels, (100_007, 100_003), gpus, network)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("cpu_slots", request(PLAN)),
        ("two_gpus_nvidia", request(change_plan(PLAN, gpus=GPUS))),
        ("two_gpus_cdi", request(change_plan(PLAN, gpus=GPUS), gpus="cdi", network="gc-1042-2-1a2b3c4d")),
    ],
)
def test_the_request_is_the_recorded_one(name: str, made: dict[str, object]) -> None:
    assert made == json.loads((RECORDED / f"{name}.json").read_text())


def test_a_gpu_is_asked_for_by_its_uuid_and_never_by_number() -> None:
    (asked,) = request(change_plan(PLAN, gpus=GPUS))["HostConfig"]["DeviceRequests"]  # type: ignore[index]
    assert asked["DeviceIDs"] == list(GPUS)
    assert "Count" not in asked


@pytest.mark.parametrize(
    "plan", [PLAN, change_plan(PLAN, gpus=GPUS), change_plan(PLAN, memory_bytes=None, cpus=None)]
)
@pytest.mark.parametrize("network", ["none", "gc-1042-2-1a2b3c4d"])
def test_no_request_gives_a_privilege(plan: StartPlan, network: str) -> None:
    made = request(plan, network=network)
    host = made["HostConfig"]
    assert isinstance(host, dict)
    assert (host["Privileged"], host["CapDrop"], host["ReadonlyRootfs"]) == (False, ["ALL"], True)
    assert not {"CapAdd", "Devices", "Binds", "VolumesFrom", "UsernsMode", "CgroupParent"} & set(host)
    assert host["NetworkMode"] not in ("host", "bridge", "default") and host["PidMode"] == ""
    writable = [mount["Target"] for mount in host["Mounts"] if not mount.get("ReadOnly")]
    assert writable == ["/groundcrew/attempt/control", "/groundcrew/attempt/out"]
    assert not [mount for mount in host["Mounts"] if mount["Source"].endswith(".sock")]


def test_root_is_refused() -> None:
    with pytest.raises(ValueError, match="root"):
        create_request(PLAN, "name", {}, (0, 100_003), "nvidia", "none")


def test_without_a_gpu_none_is_visible_whatever_the_image_says() -> None:
    environment = request(PLAN)["Env"]
    assert isinstance(environment, list)
    assert "NVIDIA_VISIBLE_DEVICES=void" in environment
