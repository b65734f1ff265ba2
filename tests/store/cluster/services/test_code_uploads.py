"""What an upload may bring, before any row is written."""

import pytest

from cluster.domain.errors import Refused
from cluster.services import code_uploads
from cluster.services.context import Cluster


@pytest.mark.parametrize(
    ("code", "paths"),
    [
        ([("train.py", b"1"), (".git/HEAD", b"2"), ("./net/a.py", b"3")], ["train.py", "net/a.py"]),
        ([("__pycache__/a.pyc", b"1")], []),
    ],
)
def test_files_come_by_their_normalised_paths(
    cluster: Cluster, code: list[tuple[str, bytes]], paths: list[str]
) -> None:
    upload = code_uploads.check_code_upload(cluster, code)
    assert ([path for path, _ in upload.files], upload.archive_name) == (paths, "")


def test_an_archive_comes_alone(cluster: Cluster) -> None:
    upload = code_uploads.check_code_upload(cluster, [("net.ZIP", b"PK")])
    assert (upload.files, upload.archive_name, upload.archive) == ((), "net.ZIP", b"PK")
    with pytest.raises(Refused) as refusal:
        code_uploads.check_code_upload(cluster, [("net.zip", b"PK"), ("a.py", b"1")])
    assert refusal.value.code == "code.archive_alone"
