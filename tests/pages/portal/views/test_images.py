"""A page and REST show what jobs run in: the default images and the training environment."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cluster.domain.images import DefaultImage, LibraryVersion
from cluster.services.images.default_images import list_default_images, record_images
from cluster.store.environments import Environment
from portal.views import images as images_page
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab

CPU = DefaultImage(
    name="groundcrew-default",
    variant="cpu",
    tag="cpu-0123456789ab",
    digest="sha256:" + "5" * 64,
    size=612_000_000,
    system="debian-12",
    made_at=datetime(2026, 11, 20, 9, tzinfo=UTC),
    contents=(
        LibraryVersion("horovod", "0.28.1", "purpose.several_ranks"),
        LibraryVersion("openmpi-bin", "4.1.4", "purpose.launch_ranks"),
    ),
)
REGISTRY = "gpu-master:5443"


def test_an_image_shows_what_was_read_from_it(lab: Lab) -> None:
    assert record_images(lab.cluster, [CPU], REGISTRY)
    page = lab.browser(lab.minjun).get("/images").text
    for said in ("horovod", "0.28.1", "Training on several ranks", "debian-12", "584 MiB", "Protected"):
        assert said in page
    assert f"{REGISTRY}/groundcrew-default@{CPU.digest}" in page
    korean = lab.browser(lab.minjun, "ko").get("/images").text
    assert "여러 장비에서 랭크 시작" in korean and "보호됨" in korean


def test_what_was_recorded_last_counts_and_the_same_is_no_news(lab: Lab) -> None:
    assert record_images(lab.cluster, [CPU], "")
    assert not record_images(lab.cluster, [CPU], "")
    assert record_images(lab.cluster, [CPU], REGISTRY)
    (found,) = list_default_images(lab.cluster, actor_of(lab.minjun))
    assert (found.digest, found.registry, found.contents) == (CPU.digest, REGISTRY, CPU.contents)


def test_a_variant_that_a_site_has_given_up_is_shown_no_longer(lab: Lab) -> None:
    cuda = replace(CPU, variant="cuda", tag="cuda-0123456789ab")
    record_images(lab.cluster, [CPU, cuda], REGISTRY)
    assert len(list_default_images(lab.cluster, actor_of(lab.minjun))) == 2
    assert record_images(lab.cluster, [CPU], REGISTRY)
    assert "Computes with CUDA" not in lab.browser(lab.minjun).get("/images").text


def test_without_an_image_the_training_environment_is_shown_as_what_it_is(lab: Lab) -> None:
    with lab.cluster.store.write() as session:
        (environment,) = session.query(Environment)
        environment.contents = [["numpy", "2.0.2", "purpose.arrays"]]
    page = lab.browser(lab.stranger).get("/images").text
    assert "Training environment of the master" in page and "numpy" in page and "Arrays of numbers" in page
    assert "Protected" not in page and "registry" not in page


@pytest.mark.parametrize("who", ["administrator", "minjun"])
def test_nothing_is_restored_where_there_is_no_such_repair(lab: Lab, who: str) -> None:
    record_images(lab.cluster, [CPU], REGISTRY)
    page = lab.browser(getattr(lab, who)).get("/images").text
    assert "/repairs/restore-default-images" not in page


def test_where_there_is_the_repair_only_administrators_are_offered_it_and_only_for_an_image(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = images_page.RESTORE
    monkeypatch.setattr(
        "cluster.services.repairs.catalogue.list_offered_repairs", lambda _: {catalogue: None}
    )
    offers = [
        who for who in (lab.administrator, lab.minjun) if catalogue in lab.browser(who).get("/images").text
    ]
    assert offers == []
    record_images(lab.cluster, [CPU], REGISTRY)
    offers = [
        who for who in (lab.administrator, lab.minjun) if catalogue in lab.browser(who).get("/images").text
    ]
    assert offers == [lab.administrator]
