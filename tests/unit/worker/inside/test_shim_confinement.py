"""The probe of confinement says of each feature whether it is enforced, and repeats the kernel's refusals."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from worker.adapters.job_runtime import install_runtime
from worker.inside import shim_confinement


@pytest.mark.parametrize("uid", [0, 1000])
def test_a_refused_feature_is_not_enforced(monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(
        shim_confinement.shim_sandbox, "read_mount_features", lambda: {"tmp": None, "system": "no such call"}
    )
    monkeypatch.setattr(
        shim_confinement.shim_cloud_metadata, "block_cloud_metadata", lambda *uids: asked.append(uids)
    )
    monkeypatch.setattr(
        shim_confinement.shim_cgroup, "read_cgroup_features", lambda: {"stop": "cgroup-v2", "memory": True}
    )
    monkeypatch.setattr(shim_confinement.os, "geteuid", lambda: uid)
    assert shim_confinement.read_confinement_features(100_001, 100_099) == {
        "tmp": True,
        "system": False,
        "metadata_address": True,
        "stop": "cgroup-v2",
        "memory": True,
        "root": uid == 0,
        "refused": {"system": "no such call"},
    }
    assert asked == [(100_001, 100_099)]


def test_the_installed_program_prints_one_line_of_json(tmp_path: Path) -> None:
    program = install_runtime(tmp_path) / "shim_confinement.py"
    words = ["unshare", "--user", "--net", sys.executable, "-I", "-S", str(program), "100001", "100099"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip("this machine gives no network namespace to try it in")
    features = json.loads(done.stdout)
    assert {"tmp", "system", "processes_hidden", "storage_hidden", "metadata_address"} <= set(features)
    assert features["root"] is False and set(features["refused"]) >= {"tmp", "metadata_address"}
