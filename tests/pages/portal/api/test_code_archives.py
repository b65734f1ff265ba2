"""An archive of code comes over REST and by the command, checked before a byte is sent."""

import io
from pathlib import Path

from cluster.domain.states import CodeState, TrainingKind
from cluster.store.trainings import CodeVersion, Training
from tests.builders import a_training
from tests.pages.portal.api.test_dataset_uploads import an_archive
from tests.pages.portal.command_lab import Run, run
from tests.pages.portal.rest_lab import Lab

__all__ = ["run"]


def own_code(lab: Lab) -> Training:
    return a_training(lab.cluster, lab.workspace, lab.member, name="own", kind=TrainingKind.ADVANCED)


def test_an_archive_of_code_becomes_a_version(lab: Lab, run: Run, tmp_path: Path) -> None:
    training, archive = own_code(lab), tmp_path / "code.zip"
    archive.write_bytes(an_archive(train__py="print()"))
    assert "Version 2 is being unpacked." in run("code", "push", "-t", "vision/own", str(archive)).stdout
    with lab.cluster.store.read() as session:
        version = session.query(CodeVersion).filter_by(training_id=training.id, number=2).one()
    assert (version.state, version.origin) == (CodeState.PREPARING, "code.zip")
    path = f"/api/v1/trainings/{training.id}/code/archive"
    for body, status in (
        ({"archive_name": "code.py", "size": 1}, 422),
        ({"archive_name": "code.zip", "size": 2**40}, 422),
        ({"archive_name": "code.zip", "size": 1, "base": 7}, 409),
    ):
        assert lab.client.post(f"{path}/check", json=body, headers=lab.headers()).status_code == status
    data = {"archive": (io.BytesIO(b"print()"), "train.py")}
    assert lab.client.post(path, data=data, headers=lab.headers()).status_code == 422
