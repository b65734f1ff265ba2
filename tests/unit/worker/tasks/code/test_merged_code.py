"""The files of an archive stand before those that stay of the version before."""

from pathlib import Path

import pytest

from cluster.domain.code_files import LARGEST_CODE_BYTES
from cluster.domain.errors import Refused
from cluster.services.context import Cluster
from cluster.store.trainings import CodeVersion, Training
from worker.tasks.code.merged_code import merge_files

TRAINING = Training(id=1, workspace_id=1, name="net", code_version=0)
FIRST = CodeVersion(training_id=1, number=1, base=None, origin="net.zip")


def test_a_wrapping_folder_and_ignored_files_are_left_out(light_cluster: Cluster, tmp_path: Path) -> None:
    for name in ("net/train.py", "net/model/layers.py", "net/__pycache__/train.pyc"):
        (tmp_path / "unpacked" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "unpacked" / name).write_text(name)
    merged = dict(merge_files(light_cluster, TRAINING, FIRST, tmp_path / "unpacked"))
    assert merged == {"train.py": b"net/train.py", "model/layers.py": b"net/model/layers.py"}


def test_too_much_code_is_refused_before_the_first_file_is_read(
    light_cluster: Cluster, tmp_path: Path
) -> None:
    with (tmp_path / "large.py").open("wb") as file:
        file.truncate(LARGEST_CODE_BYTES + 1)
    with pytest.raises(Refused):
        merge_files(light_cluster, TRAINING, FIRST, tmp_path)
