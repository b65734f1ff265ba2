"""An archive of code becomes a version beside the others, or the version says why it did not."""

import io
import stat
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import CodeState, OperationState, TrainingKind, Visibility
from cluster.services import code_versions, trainings
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import claim_operation
from cluster.services.operations.retries import retry_operation
from cluster.services.storage import folders
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, Training
from tests.builders import a_user, a_workspace, actor_of
from worker.tasks.code import code_imports
from worker.tasks.code.unpacked_code import LIMITS
from worker.tasks.run import run_claimed


def zipped(*entries: tuple[str, str], links: tuple[str, ...] = ()) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries:
            archive.writestr(name, text)
        for name in links:
            link = zipfile.ZipInfo(name)
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(link, "/etc/passwd")
    return content.getvalue()


@dataclass(frozen=True)
class Lab:
    cluster: Cluster
    actor: Actor
    training: Training

    def upload(self, content: bytes, name: str = "net.zip") -> CodeVersion:
        made = trainings.upload_code(self.cluster, self.actor, self.training.id, [(name, content)])
        run_claimed(self.cluster, made.operation_id or 0)
        with self.cluster.store.read() as session:
            return session.get_one(CodeVersion, (self.training.id, made.number))

    def paths(self, number: int) -> list[str]:
        folder = folders.code_folder(
            self.cluster.settings, self.training.workspace_id, self.training.id, number
        )
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    def newest(self) -> int:
        return code_versions.read_newest_number(self.cluster, self.training.id)

    def leftovers(self) -> list[Path]:
        incoming = folders.incoming_folder(self.cluster.settings)
        code = folders.workspace_folder(self.cluster.settings, self.training.workspace_id) / "code"
        return [*incoming.glob("upload-*"), *code.glob(".*")]


@pytest.fixture
def lab(light_cluster: Cluster) -> Lab:
    manager = a_user(light_cluster)
    workspace, actor = a_workspace(light_cluster, manager), actor_of(manager)
    code = [("train.py", b"1"), ("net/conv.py", b"2")]
    training = trainings.create_training(
        light_cluster, actor, workspace.id, "mine", "", TrainingKind.ADVANCED, None, Visibility.PUBLIC, code
    )
    return Lab(light_cluster, actor, training)


def test_a_zip_becomes_a_tree_that_keeps_the_version_before(lab: Lab) -> None:
    version = lab.upload(
        zipped(("net/pool.py", "3"), ("train.py", "4"), ("__pycache__/a.pyc", "x"), (".git/HEAD", "x"))
    )
    assert (version.state, version.files, version.bytes) == (CodeState.READY, 3, 3)
    assert lab.paths(2) == ["net/conv.py", "net/pool.py", "train.py"]
    assert lab.paths(1) == ["net/conv.py", "train.py"]
    assert (lab.newest(), lab.leftovers()) == (2, [])


def test_a_folder_that_wraps_the_code_is_taken_away(lab: Lab) -> None:
    lab.upload(zipped(("mine-main/train.py", "3"), ("mine-main/util/io.py", "4")), "mine-main.zip")
    assert lab.paths(2) == ["net/conv.py", "train.py", "util/io.py"]


def test_decomposed_names_become_composed_ones(lab: Lab) -> None:
    object.__setattr__(lab.cluster.settings, "unicode_file_names", True)
    lab.upload(zipped((unicodedata.normalize("NFD", "모델.py"), "3")))
    assert "모델.py" in lab.paths(2)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"no archive", "archive.unreadable"),
        (zipped(("../train.py", "3")), "archive.outside"),
        (zipped(("/train.py", "3")), "archive.absolute"),
        (zipped(("a.py", "3"), links=("b.py",)), "archive.link"),
        (zipped(("train.py/a.py", "3")), "code.file_and_folder"),
        (zipped(("a.py", "x" * (20 * 1024**2))), "code.too_large"),
        (zipped(("a.bin", "x" * (LIMITS.total_bytes + 1))), "archive.too_large"),
    ],
)
def test_a_refused_archive_says_why_and_changes_nothing(lab: Lab, content: bytes, code: str) -> None:
    version = lab.upload(content)
    assert (version.state, version.error_code) == (CodeState.FAILED, code)
    with lab.cluster.store.read() as session:
        assert session.get_one(Operation, version.operation_id).state is OperationState.FAILED
    assert (lab.newest(), lab.leftovers()) == (1, [])
    made = trainings.upload_code(lab.cluster, lab.actor, lab.training.id, [("a.py", b"5")])
    assert (made.number, made.state) == (3, CodeState.READY)


def test_a_training_made_of_an_archive_runs_once_it_is_unpacked(lab: Lab) -> None:
    made = trainings.create_training(
        lab.cluster,
        lab.actor,
        lab.training.workspace_id,
        "other",
        "",
        TrainingKind.ADVANCED,
        None,
        Visibility.PUBLIC,
        [("net.zip", zipped(("notes.txt", "1")))],
    )
    other = Lab(lab.cluster, lab.actor, made)
    with lab.cluster.store.read() as session:
        first = session.get_one(CodeVersion, (made.id, 1))
    run_claimed(lab.cluster, first.operation_id or 0)
    with lab.cluster.store.read() as session:
        assert session.get_one(CodeVersion, (made.id, 1)).error_code == "code.no_script"
    assert other.newest() == 0
    assert other.upload(zipped(("train.py", "1"))).state is CodeState.READY
    assert (other.newest(), other.paths(2)) == (2, ["train.py"])


def test_an_import_that_failed_can_be_tried_again_while_it_is_the_last(lab: Lab) -> None:
    version = lab.upload(b"no archive")
    archive = folders.incoming_code(lab.cluster.settings, lab.training.id, 2)
    archive.write_bytes(zipped(("a.py", "3")))
    with lab.cluster.store.write() as session:  # As where the machine had too little memory.
        session.get_one(Operation, version.operation_id).error_code = "archive.too_much_memory"
    retry_operation(lab.cluster, lab.actor, version.operation_id or 0)
    run_claimed(lab.cluster, version.operation_id or 0)
    assert lab.newest() == 2
    assert not archive.exists()


def test_an_archive_that_is_gone_is_said_so(lab: Lab) -> None:
    made = trainings.upload_code(
        lab.cluster, lab.actor, lab.training.id, [("net.zip", zipped(("a.py", "1")))]
    )
    folders.incoming_code(lab.cluster.settings, lab.training.id, made.number).unlink()
    operation = claim_operation(lab.cluster, made.operation_id or 0, "one")
    assert operation is not None
    with pytest.raises(Refused, match="code.archive_gone"):
        code_imports.run_import(lab.cluster, operation)
