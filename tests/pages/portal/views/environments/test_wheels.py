"""Administrators upload wheels in the browser; damaged ones and other people's are refused before anything changes."""

import io
import zipfile
from dataclasses import replace

import pytest

from cluster.domain.executors import ExecutorKind
from cluster.services.context import Cluster
from cluster.services.images import wheels
from portal.shared_objects import share_object
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab

ADDRESS = "/environments/wheels"


def a_wheel(
    name: str, members: tuple[str, ...] = ("lower-1.5.dist-info/METADATA",)
) -> tuple[io.BytesIO, str]:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for member in members:
            archive.writestr(member, "Name: lower")
    content.seek(0)
    return content, name


LOWER, UPPER = "lower-1.5-py3-none-any.whl", "upper-2.0-py3-none-any.whl"


def files(lab: Lab) -> list[str]:
    return [wheel.file for wheel in wheels.list_wheels(lab.cluster, actor_of(lab.administrator))]


@pytest.mark.parametrize(("language", "word"), [("en", "Made for"), ("ko", "대상")])
def test_wheels_are_uploaded_listed_replaced_and_deleted(lab: Lab, language: str, word: str) -> None:
    browser = lab.browser(lab.administrator, language)
    assert ADDRESS in browser.get("/environments").text
    for _ in range(2):
        answer = browser.post(ADDRESS, data={"wheels": [a_wheel(LOWER), a_wheel(UPPER)]})
        assert (answer.status_code, answer.location) == (303, ADDRESS)
    page = browser.get(ADDRESS).text
    assert word in page and "upper" in page and "py3-any" in page and files(lab) == [LOWER, UPPER]
    folder = lab.cluster.settings.storage_dir / "wheels"
    assert (folder.stat().st_mode & 0o777, (folder / LOWER).stat().st_mode & 0o777) == (0o755, 0o644)
    assert browser.post(f"{ADDRESS}/delete", data={"file": UPPER}).status_code == 303
    assert browser.post(f"{ADDRESS}/delete", data={"file": UPPER}).status_code == 404
    assert browser.post(f"{ADDRESS}/delete", data={"file": "../wheels"}).status_code == 404
    assert files(lab) == [LOWER]


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [a_wheel("lower.zip")],
        [(io.BytesIO(b"no archive"), LOWER)],
        [a_wheel(LOWER, ("lower/__init__.py",))],
    ],
)
def test_of_wheels_with_a_bad_one_none_is_taken(lab: Lab, sent: list[tuple[io.BytesIO, str]]) -> None:
    browser = lab.browser(lab.administrator)
    good = [a_wheel(UPPER)] if sent else []
    answer = browser.post(ADDRESS, data={"wheels": [*good, *sent]}, content_type="multipart/form-data")
    assert answer.status_code == 422 and files(lab) == []
    incoming = lab.cluster.settings.storage_dir / "incoming"
    assert not incoming.is_dir() or not list(incoming.iterdir())


def test_where_jobs_run_in_images_they_are_for_notebooks(lab: Lab) -> None:
    settings = replace(lab.cluster.settings, executor=ExecutorKind.KUBERNETES)
    share_object(lab.app, Cluster, replace(lab.cluster, settings=settings))
    browser = lab.browser(lab.administrator)
    assert ADDRESS in browser.get("/environments").text
    assert browser.post(ADDRESS, data={"wheels": [a_wheel(LOWER)]}).status_code == 303
    assert "lower" in browser.get(ADDRESS).text and files(lab) == [LOWER]


def test_nobody_else_uploads(lab: Lab) -> None:
    for person in (lab.manager, lab.minjun):
        browser = lab.browser(person)
        assert browser.get(ADDRESS).status_code == 403
        assert browser.post(ADDRESS, data={"wheels": [a_wheel(LOWER)]}).status_code == 403
        assert ADDRESS not in browser.get("/environments").text
    assert files(lab) == []
