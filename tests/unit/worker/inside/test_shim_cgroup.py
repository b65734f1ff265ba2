"""A cgroup is made in the right place, on machines that are only described: `root` is put before every path."""

import os
from pathlib import Path
from typing import Any

import pytest

from worker.inside import shim_cgroup

NAME = "groundcrew-0123456789ab-7-2"

# /proc/self/mountinfo and /proc/self/cgroup. "hybrid" was captured on Debian 12, Linux 6.18;
# the others are written from documentation: proc(5), cgroups(7), systemd's docs/CGROUP_DELEGATION.md.
HYBRID = (
    "32 31 0:29 / {cg}/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / {cg}/memory rw,relatime - cgroup cgroup rw,memory\n"
    "36 31 0:33 / {cg}/devices rw,relatime - cgroup cgroup rw,devices\n"
    "37 31 0:34 / {cg}/freezer rw,relatime - cgroup cgroup rw,freezer\n"
    "39 31 0:36 / {cg}/pids rw,relatime - cgroup cgroup rw,pids\n"
    "40 31 0:37 / {cg}/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
    "41 31 0:38 / {cg}/unified rw,relatime - cgroup2 cgroup2 rw\n"
)
UNIFIED = "29 22 0:26 / {cg} rw,nosuid,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
MACHINES: dict[str, dict[str, Any]] = {
    "hybrid": {
        "mounts": HYBRID,
        "own": "8:pids:/\n6:freezer:/\n5:devices:/\n4:memory:/api/d17\n1:cpu:/\n9:name=systemd:/\n0::/\n",
        "parts": {
            "memory/api/d17": ["memory"],
            "freezer": ["stop"],
            "pids": ["pids"],
            "devices": ["devices"],
        },
        "powers": {"stop": "cgroup-v1", "memory": True, "processes": True, "devices": True},
    },
    "hybrid, in a transient unit of systemd": {
        "mounts": HYBRID,
        "own": "8:pids:/j.slice/gc-7-2.service\n6:freezer:/\n5:devices:/j.slice/gc-7-2.service\n"
        "4:memory:/j.slice/gc-7-2.service\n0::/j.slice/gc-7-2.service\n",
        "parts": {
            "memory/j.slice/gc-7-2.service": ["memory"],
            "freezer": ["stop"],
            "pids/j.slice/gc-7-2.service": ["pids"],
            "devices/j.slice/gc-7-2.service": ["devices"],
        },
        "powers": {"stop": "cgroup-v1", "memory": True, "processes": True, "devices": True},
    },
    "version 1, in a container that sees its own part": {
        "mounts": "35 31 0:32 /docker/ab {cg}/memory rw - cgroup cgroup rw,memory\n"
        "37 31 0:34 /docker/ab {cg}/freezer rw - cgroup cgroup rw,freezer\n",
        "own": "6:freezer:/docker/ab/inner\n4:memory:/docker/ab\n",
        "parts": {"memory": ["memory"], "freezer/inner": ["stop"]},
        "powers": {"stop": "cgroup-v1", "memory": True, "processes": False, "devices": False},
    },
    "version 2, in a transient unit of systemd": {
        "mounts": UNIFIED,
        "own": "0::/groundcrew.slice/groundcrew-jobs.slice/gc-7-2.service\n",
        "controllers": "cpuset cpu io memory hugetlb pids rdma misc",
        "procs": {"groundcrew.slice/groundcrew-jobs.slice/gc-7-2.service": "41\n42\n"},
        "parts": {
            "groundcrew.slice/groundcrew-jobs.slice/gc-7-2.service": ["stop", "memory", "pids", "devices"]
        },
        "written": [
            ("groundcrew.slice/groundcrew-jobs.slice/gc-7-2.service/shim/cgroup.procs", "41"),
            ("groundcrew.slice/groundcrew-jobs.slice/gc-7-2.service/shim/cgroup.procs", "42"),
            ("groundcrew.slice/groundcrew-jobs.slice/gc-7-2.service/cgroup.subtree_control", "+memory"),
            ("groundcrew.slice/groundcrew-jobs.slice/gc-7-2.service/cgroup.subtree_control", "+pids"),
        ],
        "powers": {"stop": "cgroup-v2", "memory": True, "processes": True, "devices": True},
    },
    "version 2, started by hand from a session": {
        "mounts": UNIFIED,
        "own": "0::/user.slice/user-0.slice/session-3.scope\n",
        "controllers": "cpu memory pids",
        "given": "cpu memory",
        "parts": {"": ["stop", "memory", "pids", "devices"]},
        "written": [("cgroup.subtree_control", "+pids")],
        "powers": {"stop": "cgroup-v2", "memory": True, "processes": True, "devices": True},
    },
    "version 2, in a container whose processes are at its top": {
        "mounts": UNIFIED,
        "own": "0::/\n",
        "controllers": "cpu memory pids",
        "procs": {"": "1\n"},
        "is_namespace": True,
        "refuses": True,
        "parts": {"": ["stop", "devices"]},
        "powers": {"stop": "cgroup-v2", "memory": False, "processes": False, "devices": True},
    },
    "memory in version 1, the rest in version 2": {
        "mounts": "35 31 0:32 / {cg}/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / {cg}/unified rw - cgroup2 cgroup2 rw\n",
        "own": "4:memory:/\n0::/\n",
        "controllers": "pids hugetlb",
        "given": "pids",
        "parts": {"memory": ["memory"], "unified": ["stop", "pids", "devices"]},
        "powers": {"stop": "cgroup-v1", "memory": True, "processes": True, "devices": True}
        | {"stop": "cgroup-v2"},
    },
    "none": {
        "mounts": "23 28 0:21 / /proc rw - proc proc rw\n",
        "own": "0::/\n",
        "parts": None,
        "powers": {"stop": "scan", "memory": False, "processes": False, "devices": False},
    },
}


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> dict[str, Any]:
    return MACHINES[request.param]


def build(machine: dict[str, Any], root: Path) -> Path:
    """The machine's files beneath `root`; the folder of its hierarchies."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "mountinfo").write_text(machine["mounts"].format(cg="/sys/fs/cgroup"))
    (root / "proc" / "self" / "cgroup").write_text(machine["own"])
    cgroup = root / "sys" / "fs" / "cgroup"
    for tree in shim_cgroup.read_hierarchies(str(root)):
        Path(tree.own).mkdir(parents=True, exist_ok=True)
        if tree.version == 2:
            top = Path(tree.top)
            (top / "cgroup.controllers").write_text(machine.get("controllers", "hugetlb") + "\n")
            (top / "cgroup.subtree_control").write_text(machine.get("given", "") + "\n")
            if machine.get("is_namespace"):
                (top / "cgroup.type").write_text("domain\n")
    for folder, text in machine.get("procs", {}).items():
        (cgroup / folder / "cgroup.procs").write_text(text)
    return cgroup


def parts_of(group: shim_cgroup.Cgroup, cgroup: Path) -> dict[str, list[str]]:
    found = {}
    for part in group.folders:
        assert Path(part.path).name == NAME
        place = str(Path(part.path).parent.relative_to(cgroup))
        found["" if place == "." else place] = part.uses
    return found


def test_each_controller_is_used_where_the_machine_has_it(
    machine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cgroup, written = build(machine, tmp_path), []

    def write(path: str, text: str) -> None:
        if machine.get("refuses"):
            raise OSError(16, "Device or resource busy")
        written.append((str(Path(path).relative_to(cgroup)), text))

    monkeypatch.setattr(shim_cgroup, "write_kernel_file", write)
    trees = shim_cgroup.read_hierarchies(str(tmp_path))
    group = shim_cgroup.plan_cgroup(NAME, trees)
    if machine["parts"] is None:
        assert group is None
        return
    assert group is not None
    shim_cgroup.delegate_controllers(trees, group)
    assert parts_of(group, cgroup) == machine["parts"]
    assert written == machine.get("written", [])
    assert set(group.refused_limits) == ({"memory", "pids"} if machine.get("refuses") else set())


@pytest.mark.skipif(os.geteuid() != 0, reason="without root nothing can be enforced")
def test_what_can_be_enforced_is_told(machine: dict[str, Any], tmp_path: Path) -> None:
    build(machine, tmp_path)
    assert shim_cgroup.read_cgroup_features(str(tmp_path)) == machine["powers"]


def test_without_root_nothing_is_enforced(
    machine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(machine, tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert shim_cgroup.read_cgroup_features(str(tmp_path)) == MACHINES["none"]["powers"]


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (
            1,
            {
                "memory.limit_in_bytes": "1024",
                "memory.memsw.limit_in_bytes": "1024",
                "pids.max": "77",
            },
        ),
        (2, {"memory.max": "1024", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "77"}),
    ],
)
def test_limits_and_counters_of_both_versions(version: int, files: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    for name in files:
        (folder / name).touch()
    group = shim_cgroup.Cgroup(
        NAME, [shim_cgroup.CgroupFolder(version, ["stop", "memory", "pids"], str(folder))]
    )
    group.limit(1024, 77)
    assert {name: (folder / name).read_text() for name in files} == files
    assert (group.refused_limits, group.memory_bytes, group.most_processes) == ({}, 1024, 77)
    assert (group.memory_kills(), group.refused_processes(), group.is_full()) == (0, 0, False)
    events = "memory.oom_control" if version == 1 else "memory.events"
    (folder / events).write_text("low 0\noom_kill_disable 0\noom_kill 3\noom_group_kill 1\n")
    (folder / "pids.events").write_text("max 5\n")
    (folder / "pids.current").write_text("77\n")
    assert (group.memory_kills(), group.refused_processes(), group.is_full()) == (3, 5, True)


def test_a_limit_that_the_machine_refuses_is_told_and_never_claimed(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    group = shim_cgroup.Cgroup(NAME, [shim_cgroup.CgroupFolder(2, ["stop", "memory"], str(tmp_path / NAME))])
    group.limit(1024, 77)
    assert set(group.refused_limits) == {"memory", "pids"}
    assert (group.memory_bytes, group.most_processes) == (None, None)


@pytest.mark.parametrize(
    "name", ["groundcrew", "system.slice", "groundcrew-0123456789ab-7-2/..", "", "../" + NAME]
)
def test_nothing_but_a_group_of_ours_is_ever_written(name: str, tmp_path: Path) -> None:
    part = shim_cgroup.CgroupFolder(2, ["stop"], str(tmp_path / name))
    with pytest.raises(ValueError, match="not a group of Groundcrew"):
        part.write("cgroup.kill", "1")
    with pytest.raises(ValueError, match="no name of a group"):
        shim_cgroup.Cgroup(name, [part])


@pytest.mark.parametrize(
    ("place", "is_taken"),
    [
        ("{top}/a.slice/{name}", True),
        ("{top}/{name}/../../{name}", False),
        ("{top}/a.slice/other", False),
        ("/etc/{name}", False),
        ("{top}-not/{name}", False),
    ],
)
def test_a_record_names_only_what_lies_in_a_hierarchy(place: str, is_taken: bool, tmp_path: Path) -> None:
    top = str(tmp_path / "cgroup")
    path = place.format(top=top, name=NAME)
    shim_cgroup.write_cgroup_record(
        str(tmp_path), shim_cgroup.Cgroup(NAME, [shim_cgroup.CgroupFolder(1, ["stop"], path)])
    )
    trees = [shim_cgroup.CgroupHierarchy(1, frozenset({"freezer"}), top, top)]
    group = shim_cgroup.read_cgroup_record(str(tmp_path), trees)
    assert group is not None and [part.path for part in group.folders] == ([path] if is_taken else [])


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"name": "x", "parts": []}', '{"name": 1, "parts": 2}', "\x00"]
)
def test_a_record_that_makes_no_sense_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / shim_cgroup.RECORD_FILE).write_text(text)
    assert shim_cgroup.read_cgroup_record(str(tmp_path), []) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is led astray")
def test_a_record_that_somebody_else_wrote_names_no_group(tmp_path: Path) -> None:
    """Root ends what it names: its writer would have any group of a job ended."""
    top = str(tmp_path / "cgroup")
    trees = [shim_cgroup.CgroupHierarchy(1, frozenset({"freezer"}), top, top)]
    part = shim_cgroup.CgroupFolder(1, ["stop"], f"{top}/{NAME}")
    shim_cgroup.write_cgroup_record(str(tmp_path), shim_cgroup.Cgroup(NAME, [part]))
    assert shim_cgroup.read_cgroup_record(str(tmp_path), trees) is not None
    os.chown(tmp_path / shim_cgroup.RECORD_FILE, 1, 1)
    assert shim_cgroup.read_cgroup_record(str(tmp_path), trees) is None
