"""What attempts run in is read once for many of them: environments by their choice, images by their reference."""

from dataclasses import replace
from datetime import UTC, datetime

from cluster.domain.executors import ExecutorKind
from cluster.domain.images import DefaultImage
from cluster.domain.states import EnvironmentSource, UnitKind
from cluster.services.context import Cluster
from cluster.services.images.default_images import record_images
from cluster.services.images.environment_list import list_environments
from cluster.services.images.start_environments import (
    read_container_images,
    read_image_rows,
    read_start_environments,
)
from tests.builders import actor_of, an_administrator, an_environment
from tests.store.job_setup import make_environment_ready

IMAGE = DefaultImage(
    "groundcrew-default", "cpu", "cpu-1", "sha256:" + "5" * 64, 9, "debian-12", datetime(2026, 11, 20, tzinfo=UTC), ()
)  # fmt: skip
CUDA = replace(IMAGE, variant="cuda", tag="cuda-1", digest="sha256:" + "6" * 64)


def test_an_environment_is_known_by_its_choice_and_the_default_by_none(cluster: Cluster) -> None:
    make_environment_ready(cluster)
    chosen = an_environment(cluster, "torch-2.7", path="/e/7")
    with cluster.store.read() as session:
        found = read_start_environments(cluster, session, [None, chosen.id])
        assert read_image_rows(cluster.settings, session) == {}
    assert (found[None].name, found[None].is_chosen) == ("default", False)
    assert (found[chosen.id].id, str(found[chosen.id].path), found[chosen.id].is_chosen) == (
        chosen.id,
        "/e/7",
        True,
    )


def test_images_are_environments_of_their_own_and_a_new_digest_is_a_new_one(cluster: Cluster) -> None:
    pods = replace(cluster, settings=replace(cluster.settings, executor=ExecutorKind.KUBERNETES))
    administrator = actor_of(an_administrator(cluster))
    assert record_images(cluster, [IMAGE, CUDA], "master:5443")
    assert not record_images(cluster, [IMAGE, CUDA], "master:5443")
    rows = {row.name: row for row in list_environments(cluster, administrator)}
    assert set(rows) == {"groundcrew-default-cpu", "groundcrew-default-cuda"}
    assert [row.gpu_support for row in rows.values()] == ["no", "yes"]
    with cluster.store.read() as session:
        images = read_container_images(pods.settings, session)
        known = read_image_rows(pods.settings, session)
        chosen = rows["groundcrew-default-cpu"]
        (start,) = [read_start_environments(pods, session, [chosen.id])[chosen.id]]
    assert known[images[UnitKind.GPU]] == rows["groundcrew-default-cuda"].id
    assert (start.id, start.image) == (chosen.id, f"master:5443/groundcrew-default@{IMAGE.digest}")
    newer = replace(IMAGE, digest="sha256:" + "7" * 64)
    assert record_images(cluster, [newer], "master:5443")
    (row,) = list_environments(cluster, administrator)
    assert row.id != chosen.id and (row.digest, row.source) == (newer.digest, EnvironmentSource.IMAGE)
