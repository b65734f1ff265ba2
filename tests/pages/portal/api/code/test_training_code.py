"""Code over REST: a new version of changed files, trees with digests, contents and differences."""

import base64
import hashlib

import pytest

from cluster.domain.states import TrainingKind
from tests.builders import a_code_version, a_training, a_user
from tests.pages.portal.rest_lab import Lab

FILES = [("train.py", b"print(1)\n"), ("net/conv.py", b"x = 1\n")]


@pytest.fixture
def path(lab: Lab) -> str:
    training = a_training(lab.cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED)
    a_code_version(lab.cluster, training, FILES)
    return f"/api/v1/trainings/{training.id}/code"


def push(
    lab: Lab, path: str, base: int | None = None, removed: tuple[str, ...] = (), **files: bytes
) -> object:
    sent = [
        {"path": name.replace("__", "/") + ".py", "content": base64.b64encode(content).decode()}
        for name, content in files.items()
    ]
    body = {"files": sent, "removed": list(removed), "base": base}
    return lab.client.post(path, json=body, headers=lab.headers())


def test_a_version_is_made_of_what_has_changed(lab: Lab, path: str) -> None:
    answer = push(lab, path, base=1, removed=("train.py",), net__conv=b"x = 2\n")
    assert answer.status_code == 201  # type: ignore[attr-defined]
    assert (answer.json["number"], answer.json["state"], answer.json["base"]) == (2, "ready", 1)  # type: ignore[attr-defined]
    headers = lab.headers()
    (file,) = lab.client.get(f"{path}/2", headers=headers).json["files"]
    assert file == {"path": "net/conv.py", "bytes": 6, "sha256": hashlib.sha256(b"x = 2\n").hexdigest()}
    assert lab.client.get(f"{path}/2/content?path=net/conv.py", headers=headers).data == b"x = 2\n"
    assert [row["number"] for row in lab.client.get(path, headers=headers).json["items"]] == [2, 1]
    text = lab.client.get(f"{path}/difference?before=1&after=2", headers=headers).text
    assert "--- a/net/conv.py\n+++ b/net/conv.py\n" in text and "-x = 1\n+x = 2\n" in text
    assert "-print(1)" in text


def test_somebody_else_s_version_is_not_overwritten(lab: Lab, path: str) -> None:
    assert push(lab, path, base=1, a=b"1").status_code == 201  # type: ignore[attr-defined]
    late = push(lab, path, base=1, b=b"1")
    assert (late.status_code, late.json["code"]) == (409, "code.changed_since")  # type: ignore[attr-defined]


def test_code_is_for_those_who_see_the_training(lab: Lab, path: str) -> None:
    headers = lab.headers(a_user(lab.cluster))
    for address in ("", "/1", "/1/content?path=train.py", "/difference?before=1&after=1"):
        assert lab.client.get(path + address, headers=headers).status_code == 404
    assert lab.client.get(f"{path}/9", headers=lab.headers()).status_code == 404
    assert lab.client.get(f"{path}/1/content?path=net", headers=lab.headers()).status_code == 404


def test_a_large_version_is_taken_whole(lab: Lab, path: str) -> None:
    """Other bodies of REST are far smaller."""
    assert push(lab, path, a=b"#" * 3_000_000).status_code == 201  # type: ignore[attr-defined]
