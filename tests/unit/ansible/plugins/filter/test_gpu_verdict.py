"""Bus, driver, agent and fabric manager have to agree; what does not is named with a remedy and a command."""

from typing import Any

import pytest

from tests.unit.roles.rendering import own_filters

FINDINGS, REPORT = own_filters()["gpu_findings"], own_filters()["gpu_report"]
GOOD: dict[str, Any] = {
    "bus": 2,
    "smi": ["GPU-1, 580.126.20", "GPU-2, 580.126.20"],
    "smi_message": "",
    "offered": [{"uuid": "GPU-1", "is_broken": False}, {"uuid": "GPU-2", "is_broken": False}],
    "needs_fabric_manager": True,
    "fabric_manager": "active",
    "fabric_version": "580.126.20",
    "fabric_ports": [{"interface": "ibp65s0", "device": "mlx5_0", "port": "1", "state": "ACTIVE"}],
    "multiplied": [],
    "multiplied_message": "",
    "skipped": "",
    "is_simulated": False,
}
BROKEN = [GOOD["offered"][0], {"uuid": "GPU-2", "is_broken": True}]


@pytest.mark.parametrize(
    ("seen", "causes"),
    [
        ({}, []),
        (
            {"smi": [], "smi_message": "NVIDIA-SMI has failed\\n"},
            ["nvidia-smi shows 0: NVIDIA-SMI has failed"],
        ),
        ({"smi": GOOD["smi"][:1]}, ["nvidia-smi shows 1"]),
        (
            {
                "smi": [
                    *GOOD["smi"][:1],
                    "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error",
                ]
            },
            ["nvidia-smi shows 1: Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error"],
        ),
        (
            {"smi": [*GOOD["smi"][:1], "[Unknown Error], [Unknown Error]"]},
            ["nvidia-smi shows 1: [Unknown Error], [Unknown Error]"],
        ),
        ({"offered": BROKEN}, ["the agent offers 1"]),
        ({"offered": []}, ["the agent offers 0"]),
        ({"fabric_manager": "failed"}, ["it is failed"]),
        (
            {"multiplied_message": "A GPU does not compute what the CPU does: GPU-2: CUDA error\n"},
            ["does not compute on the GPUs: A GPU does not compute what the CPU does: GPU-2: CUDA error"],
        ),
        ({"fabric_manager": ""}, ["it is not there"]),
        ({"fabric_version": "580.105.08"}, ["580.105.08, the driver 580.126.20"]),
        ({"fabric_manager": "failed", "needs_fabric_manager": False}, []),
        ({"bus": 0, "smi": [], "offered": []}, []),
        (
            {"fabric_ports": [GOOD["fabric_ports"][0] | {"state": "INIT"}]},
            ["ibp65s0 is there for InfiniBand, and port 1 of mlx5_0 is INIT"],
        ),
        ({"bus": 0, "fabric_ports": [GOOD["fabric_ports"][0] | {"state": "DOWN"}]}, ["is DOWN"]),
    ],
)
def test_what_does_not_agree_is_named(seen: dict[str, Any], causes: list[str]) -> None:
    found = FINDINGS(GOOD | seen)
    assert len(found) == len(causes)
    for finding, cause in zip(found, causes, strict=True):
        assert cause in finding["cause"] and finding["remedy"] and finding["command"]


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (
            {},
            "w1: 2 GPUs on the bus, in nvidia-smi and offered to jobs; driver 580.126.20, "
            "fabric manager of the same version; InfiniBand active on ibp65s0",
        ),
        ({"bus": 0, "smi": [], "offered": []}, "w1: no GPU; InfiniBand active on ibp65s0"),
        ({"bus": 0, "smi": [], "offered": [], "fabric_ports": []}, "w1: no GPU"),
        (
            {"bus": 0, "smi": [], "is_simulated": True, "fabric_ports": []},
            "w1: 2 GPUs are offered to jobs (simulated: no GPU of this host is real)",
        ),
    ],
)
def test_the_end_says_what_was_seen_and_what_is_simulated(seen: dict[str, Any], line: str) -> None:
    assert REPORT(GOOD | seen, "w1") == [line]


@pytest.mark.parametrize(
    ("allocatable", "told"),
    [
        ({"w1": {"nvidia.com/gpu": "8"}, "w2": {}}, []),
        ({"w1": {"nvidia.com/gpu": "6"}, "w2": {}}, ["w1: 8 GPUs are on the PCI bus and pods may ask for 6"]),
        ({"w1": {}, "w2": {}}, ["w1: 8 GPUs are on the PCI bus and pods may ask for 0"]),
        ({"w2": {}}, ["w1: 8 GPUs are on the PCI bus and pods may ask for 0"]),
        # What stands in for GPUs on a node without any.
        ({"w1": {"nvidia.com/gpu": "8"}, "w2": {"nvidia.com/gpu": "2"}}, []),
    ],
)
def test_pods_may_ask_for_as_many_gpus_as_the_bus_has(
    allocatable: dict[str, dict[str, str]], told: list[str]
) -> None:
    nodes = {name: {"allocatable": each} for name, each in allocatable.items()}
    found = own_filters()["allocatable_findings"](
        nodes, [{"node": "w1", "gpu_count": 8}, {"node": "w2", "gpu_count": "0"}]
    )
    assert len(found) == len(told)
    for finding, words in zip(found, told, strict=True):
        assert finding["cause"].startswith(words) and "kubectl" in finding["command"]
    assert len(own_filters()["finding_lines"](found)) == 3 * len(told)


def test_a_silent_api_server_is_one_finding_and_no_count_of_gpus() -> None:
    expected = [{"node": "w1", "gpu_count": 8}]
    (silence,) = own_filters()["cluster_findings"]({"problem": "refused", "nodes": {}}, expected)
    assert (
        silence["cause"] == "Kubernetes does not answer: refused" and silence["remedy"] and silence["command"]
    )
    nodes = {"w1": {"allocatable": {"nvidia.com/gpu": "8"}}}
    assert own_filters()["cluster_findings"]({"problem": "", "nodes": nodes}, expected) == []


def test_the_end_names_the_gpus_that_multiplied() -> None:
    lines = REPORT(GOOD | {"multiplied": ["GPU-1"]}, "w1")
    assert lines[1:] == ["    GPU-1 multiplied as the CPU does"]
    lines = REPORT(GOOD | {"skipped": "jobs hold all GPUs"}, "w1")
    assert lines[1:] == ["    nothing was multiplied: jobs hold all GPUs"]


def pod_said(**more: Any) -> dict[str, Any]:
    return {"gpus": [], "is_simulated": False, "problem": "", "devices": "", "skipped": "", **more}


@pytest.mark.parametrize(
    ("said", "line", "is_bad"),
    [
        (
            pod_said(gpus=[{"uuid": "GPU-1", "name": "H100"}, {"uuid": "", "name": "H100"}]),
            "w1: in a pod multiplied as the CPU does: GPU-1, H100",
            False,
        ),
        (
            pod_said(is_simulated=True, devices="stand-in-0,stand-in-1"),
            "w1: a pod had stand-in-0,stand-in-1 and multiplied on the CPU (simulated: no GPU is real)",
            False,
        ),
        (pod_said(skipped="jobs hold all GPUs"), "w1: no pod multiplied: jobs hold all GPUs", False),
        (
            pod_said(problem="2 GPUs are wanted"),
            "w1: a pod does not compute on its GPUs: 2 GPUs are wanted.",
            True,
        ),
    ],
)
def test_the_end_says_what_the_pod_of_each_node_saw(said: dict[str, Any], line: str, is_bad: bool) -> None:
    lines = own_filters()["pod_lines"]({"w1": said})
    assert lines[0] == line and len(lines) == (3 if is_bad else 1)
    assert len(own_filters()["pod_findings"]({"w1": said})) == is_bad
