"""The default images of an installation are those that were recorded last, one per variant."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cluster.domain.images import DefaultImage
from cluster.domain.states import UnitKind
from cluster.services.context import Cluster
from cluster.services.images.default_images import list_default_images, read_default_image, record_images
from tests.builders import a_user, actor_of

CPU = DefaultImage(
    "groundcrew-default", "cpu", "cpu-1", "sha256:" + "5" * 64, 1, "debian-12", datetime(2026, 11, 20, tzinfo=UTC), ()
)  # fmt: skip
CUDA = replace(CPU, variant="cuda", tag="cuda-1")


@pytest.mark.parametrize(
    ("images", "for_gpus", "for_cpus"),
    [
        ((), "", ""),
        ((CPU,), "groundcrew-default:cpu-1", "groundcrew-default:cpu-1"),
        ((CUDA,), "groundcrew-default:cuda-1", "groundcrew-default:cuda-1"),
        ((CUDA, CPU), "groundcrew-default:cuda-1", "groundcrew-default:cpu-1"),
    ],
)
def test_units_get_the_image_of_their_kind_or_the_only_one(
    cluster: Cluster, images: tuple[DefaultImage, ...], for_gpus: str, for_cpus: str
) -> None:
    record_images(cluster, images, "")
    with cluster.store.read() as session:
        assert read_default_image(session, UnitKind.GPU) == for_gpus
        assert read_default_image(session, UnitKind.CPU_SLOT) == for_cpus


def test_the_newest_record_replaces_the_one_before_and_the_same_one_is_no_news(cluster: Cluster) -> None:
    person = actor_of(a_user(cluster))
    assert list_default_images(cluster, person) == []
    assert record_images(cluster, [CUDA, CPU], "master:5443")
    assert not record_images(cluster, [CPU, CUDA], "master:5443")
    registered = [replace(each, registry="master:5443") for each in (CPU, CUDA)]
    assert list_default_images(cluster, person) == registered
    assert record_images(cluster, [CUDA], "")
    assert list_default_images(cluster, person) == [CUDA]
